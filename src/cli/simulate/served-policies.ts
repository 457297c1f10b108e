import { resolve } from "node:path";
import { parseJsonObject, type JsonObject } from "../../canon/json.ts";
import { readNamedFile } from "../../policy/read-regular-file.ts";
import type { CompiledTree, EnforcedDigests } from "../../simulate/side-contents.ts";
import {
  answerError,
  callServer,
  objectOf,
  objectsOf,
  serverUrl,
  textOf,
} from "../terminal/call-server.ts";
import { CommandError, type CommandIo } from "../terminal/command-io.ts";
import type { SimulateOptions } from "./options.ts";

/** Bytes. */
const LARGEST_LIST = 16 * 1024 * 1024;

/**
 * The contents that a server enforces, by policy; `null` without `--policies` and `--server`.
 *
 * @throws {CommandError} where the list cannot be read, or neither side has an enforced content:
 *   such a policy could not be decided.
 */
export async function enforcedDigests(
  { policies, server }: SimulateOptions,
  trees: readonly CompiledTree[],
  io: CommandIo,
): Promise<EnforcedDigests | null> {
  if (policies === null && server === null) return null;
  const flag = policies === null ? "--server" : "--policies";
  const answer =
    policies === null ? await listOfServer(server ?? "", io) : await listOfFile(policies, io);
  if (answer?.object !== "list" || !Array.isArray(answer.data)) {
    throw new CommandError(
      `${flag}: is not the output of signalbox policy list --format json, or of a server of another version`,
    );
  }
  const enforced = new Map<string, string | null>();
  for (const policy of objectsOf(answer, "data")) {
    const [id, slot] = [textOf(policy, "id"), objectOf(policy, "enforced")];
    const digest = slot === null || slot.content === "removal" ? null : textOf(slot, "digest");
    enforced.set(id, digest);
    const isKnown = trees.some((tree) =>
      tree.policies.policies.some((one) => one.contract.id === id && one.digest === digest),
    );
    if (digest === null || isKnown) continue;
    throw new CommandError(
      `${flag}: the server enforces ${id} ${textOf(slot, "revision")} (${digest.slice(0, 8)}), which neither side has; simulate with the base that the server runs`,
    );
  }
  const ids = [...enforced].flatMap(([id, digest]) => (digest === null ? [] : [id]));
  io.stderr(
    `signalbox simulate: policies as the server enforces them: ${ids.join(", ") || "none"}\n`,
  );
  return enforced;
}

async function listOfFile(path: string, io: CommandIo): Promise<JsonObject | null> {
  const bytes = await readNamedFile(resolve(io.cwd, path), LARGEST_LIST).catch(() => null);
  if (bytes === null || bytes === "too_large")
    throw new CommandError("--policies: the file cannot be read; check the path");
  return parseJsonObject(Buffer.from(bytes).toString("utf8"));
}

async function listOfServer(server: string, io: CommandIo): Promise<JsonObject | null> {
  const answer = await callServer(io, {
    url: serverUrl(server, "/v1/policies?ended=true"),
    scopes: "governance:read or operations:manage",
  });
  if (answer.status === 200) return answer.body;
  throw answerError(answer, "/v1/policies");
}
