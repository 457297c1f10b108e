import { objectOf } from "../../terminal/read-answer.ts";
import { CommandError, UsageError } from "../../terminal/command-io.ts";
import type { PolicyServer } from "./client.ts";
import { NotNowError } from "./refusal.ts";
import { contentsOf, recordedContent, type Content, type PolicyView } from "./view.ts";

/**
 * The content that a name means: `enforced`, `candidate`, a revision such as r4, or the first digits of a digest, six at least. `null`: the slot is empty.
 *
 * @param flag for messages.
 * @throws {UsageError} for what is none of these. @throws {CommandError} where the policy has no such content.
 */
export async function findContent(
  server: PolicyServer,
  view: PolicyView,
  flag: string,
  name: string,
): Promise<Content | null> {
  if (name === "enforced" || name === "candidate") return view[name];
  const isRevision = /^r\d{1,9}$/.test(name);
  if (!isRevision && !/^[0-9a-f]{6,64}$/.test(name)) {
    throw new UsageError(
      `${flag}: must be enforced, candidate, a revision such as r4, or six or more digits of a digest`,
    );
  }
  const names = ({ revision, digest }: Content): boolean =>
    isRevision ? revision === `r${Number(name.slice(1))}` : digest.startsWith(name);
  const known = new Map<string, Content>();
  for (const content of contentsOf(view)) known.set(content.digest, content);
  // What stands nowhere any more is known to the log alone. A few digits must not be enough because only some contents were looked at.
  const isSure = name.length === 64 || isRevision;
  if (!isSure || ![...known.values()].some(names)) {
    for await (const row of server.transitions(view.id)) {
      const content = recordedContent(objectOf(row, "record"));
      if (content !== null) known.set(content.digest, content);
    }
  }
  const [found, ...others] = [...known.values()].filter(names);
  if (found === undefined) {
    throw new CommandError(`${flag}: the policy has no such content; see: signalbox policy history ${view.id}`);
  }
  if (others.length > 0) throw new CommandError(`${flag}: more than one content begins like this; give more digits`);
  return found;
}

/**
 * The content that `--digest` names, or the candidate.
 *
 * @throws {UsageError} for anything but digits of a digest: a slot may hold another content by now. @throws {NotNowError} where there is no candidate.
 */
export async function requestedContent(
  server: PolicyServer,
  view: PolicyView,
  digest: string | undefined,
): Promise<Content> {
  if (digest !== undefined && !/^[0-9a-f]{6,64}$/.test(digest)) {
    throw new UsageError("--digest: must be 6 to 64 digits of a digest (0-9, a-f)");
  }
  const content = digest === undefined ? view.candidate : await findContent(server, view, "--digest", digest);
  if (content === null) throw new NotNowError("there is no candidate; name another content with --digest");
  return content;
}
