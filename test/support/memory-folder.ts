import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where Linux keeps a file system in memory. */
const MEMORY = "/dev/shm";

/** Bytes that must be free: much more than the tests have there at once. */
const NEEDED = 2 ** 30;

/**
 * Before the test processes start: temporary folders are in memory, where that is possible. The
 * tests commit some ten thousand changes to databases and repositories, each of which would wait
 * for the disk. They end processes and never the machine, for which memory is as durable.
 *
 * @returns removes what tests that were interrupted have left.
 */
export default function memoryFolder(): (() => void) | undefined {
  // A cache that outlives a run stays where it was.
  process.env["SIGNALBOX_TEST_HOME"] ??= join(tmpdir(), "signalbox-test-home");
  if (process.env["TMPDIR"] !== undefined || !isUsable()) return undefined;
  const folder = mkdtempSync(join(MEMORY, "signalbox-test-"));
  // As `/tmp` has it: PostgreSQL runs as another user.
  chmodSync(folder, 0o1777);
  process.env["TMPDIR"] = folder;
  return () => {
    delete process.env["TMPDIR"];
    rmSync(folder, { recursive: true, force: true });
  };
}

/** Containers often have a small one, from which no program may be started. */
function isUsable(): boolean {
  try {
    const mounts = readFileSync("/proc/mounts", "utf8").split("\n");
    const mount = mounts.find((line) => line.split(" ")[1] === MEMORY) ?? "noexec";
    const { bavail, bsize } = statfsSync(MEMORY);
    return !mount.includes("noexec") && bavail * bsize >= NEEDED;
  } catch {
    return false;
  }
}
