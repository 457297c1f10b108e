/**
 * @returns milliseconds that this thread computed for `work`, which does not wait. The time on the
 * clock would be that of every process of a busy machine.
 */
export function cpuTimeOf(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
