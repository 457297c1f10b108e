import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Ticks a second of the times in /proc. */
const TICKS = Number(spawnSync("getconf", ["CLK_TCK"], { encoding: "utf8" }).stdout) || 100;

/**
 * Microseconds of CPU that all threads of a process have used, in user mode and in the kernel;
 * `null` where there is no /proc.
 */
export function cpuMicroseconds(pid: number): number | null {
  const text = read(`/proc/${pid}/stat`);
  if (text === null) return null;
  // The second field is the program's name, which may hold spaces and brackets (proc_pid_stat(5)).
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[11]) + Number(fields[12])) * 1_000_000) / TICKS;
}

/** The same, with the processes that it has started and that run. */
export function familyCpuMicroseconds(pid: number): number | null {
  const own = cpuMicroseconds(pid);
  if (own === null) return null;
  const children =
    read(`/proc/${pid}/task/${pid}/children`)?.trim().split(" ").filter(Boolean) ?? [];
  return children.reduce((sum, child) => sum + (familyCpuMicroseconds(Number(child)) ?? 0), own);
}

/** Resident memory in megabytes; `null` where there is no /proc. */
export function residentMegabytes(pid: number): number | null {
  const kilobytes = /^VmRSS:\s*(\d+) kB/m.exec(read(`/proc/${pid}/status`) ?? "")?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) / 1_000;
}

function read(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
