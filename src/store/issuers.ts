import type { IssuerRecord, IssuerStore } from "../keys/key-store.ts";

/** How often issuers are looked at, milliseconds; the port promises one second. */
const POLL = 400;

/**
 * `watch` for an engine that only lists. There are about as many issuers as processes, so looking
 * is as cheap as listening and cannot miss anything.
 */
export async function watchIssuers(
  list: IssuerStore["list"],
  listener: (records: readonly IssuerRecord[]) => void,
): Promise<() => void> {
  let known = "";
  const look = async (): Promise<void> => {
    const records = await list(Date.now());
    const kids = records.map(({ kid }) => kid).join();
    if (kids === known) return;
    known = kids;
    listener(records);
  };
  const first = await list(Date.now());
  known = first.map(({ kid }) => kid).join();
  listener(first);
  const timer = setInterval(() => void look().catch(() => undefined), POLL);
  timer.unref();
  return () => clearInterval(timer);
}
