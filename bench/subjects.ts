import { join } from "node:path";
import type { Children, Cores } from "./children.ts";
import { startPeers } from "./peers/peers.ts";
import { startNginx } from "./subjects/nginx.ts";
import { startSignalbox } from "./subjects/signalbox.ts";

/** Something that answers the benchmark's requests. */
export interface Subject {
  readonly name: string;
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The process whose CPU and memory count; `null` where the load goes straight to the upstream.
   */
  readonly pid: number | null;
  /**
   * The part of a case's requests that it gets, where that is not all; failing, it is omitted
   * instead of ending the benchmark.
   */
  readonly share?: number;
}

export interface Field {
  readonly subjects: readonly Subject[];
  /** One line for each subject that could not take part. */
  readonly absent: readonly string[];
}

/**
 * Starts everything that is compared. All of it stays up for the whole benchmark: an idle one uses
 * no CPU.
 */
export async function startSubjects(
  children: Children,
  upstream: string,
  folder: string,
  cores: Cores,
  peers: boolean,
): Promise<Field> {
  const subjects: Subject[] = [{ name: "direct", origin: upstream, headers: {}, pid: null }];
  const absent: string[] = [];
  const nginx = await startNginx(children, upstream, folder, cores.subject);
  if (typeof nginx === "string") absent.push(nginx);
  else
    subjects.push({
      name: `nginx ${nginx.version}`,
      origin: nginx.origin,
      headers: {},
      pid: nginx.process.pid ?? null,
    });
  const relay = await children.startServer(
    process.execPath,
    [join(import.meta.dirname, "subjects/bare-relay.ts"), upstream],
    cores.subject,
    true,
  );
  subjects.push({
    name: BASELINE,
    origin: relay.origin,
    headers: {},
    pid: relay.process.pid ?? null,
  });
  const signalbox = await startSignalbox(children, upstream, folder, cores.subject);
  const headers = { authorization: `Bearer ${signalbox.key}` };
  subjects.push({
    name: "signalbox",
    origin: signalbox.origin,
    headers,
    pid: signalbox.process.pid ?? null,
  });
  if (peers)
    for (const peer of await startPeers(children, upstream, folder, cores.subject)) {
      if (typeof peer === "string") absent.push(peer);
      else subjects.push(peer);
    }
  return { subjects, absent };
}

/** The subject that the others are compared with. */
export const BASELINE = "bare relay";
