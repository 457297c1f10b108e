import { createServer } from "node:net";

/**
 * Below the ports that the kernel deals to outgoing connections and to `listen(0)` (32768 to 60999
 * on Linux): one of those would be taken by any test's next connection while the process that is to
 * have it starts, or while it is down.
 */
const FIRST = 20_000;
const COUNT = 12_000;

/**
 * The first of `count` free ports, one after another, for processes that get their port as a flag:
 * where they can say it themselves, give them 0 instead. Drawn, not counted, since test files run
 * in processes that know nothing of each other.
 */
export async function freePort(count = 1): Promise<number> {
  for (;;) {
    const first = FIRST + Math.floor(Math.random() * (COUNT - count));
    const free = await Promise.all(
      Array.from({ length: count }, (_, index) => isFree(first + index)),
    );
    if (free.every(Boolean)) return first;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((settle) => {
    server.once("error", () => settle(false));
    server.listen(port, "127.0.0.1", () => server.close(() => settle(true)));
  });
}
