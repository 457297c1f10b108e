import { DEFAULT_CACHE_TEXT } from "../terminal/configuration.ts";
import { FAIL_ON_VALUES } from "./exit-code.ts";
import { DEFAULT_FORMAT, FORMATS } from "./formats/formats.ts";
import { DEFAULT_TIME_LIMIT, defaultWorkers } from "./options.ts";

/** @param columns of a line; words are not split. */
function wrapped(words: readonly string[], indent: string, columns: number): string {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last !== undefined && indent.length + last.length + 1 + word.length <= columns) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else lines.push(word);
  }
  return lines.join(`\n${indent}`);
}

const FAIL_ON = wrapped(
  FAIL_ON_VALUES.map((value, index) => (index + 1 < FAIL_ON_VALUES.length ? `${value},` : value)),
  " ".repeat(24),
  110,
);

export function simulateHelp(): string {
  return `Usage: signalbox simulate [options]

Shows what a change of routes.yaml and the policies does, before it is merged: compiles two trees, decides every class
of requests on both, and reports the differences. Calls no provider, opens no store, reads no secret of a provider. It
does not check out or fetch anything.

What is compared
  --base REF|FOLDER     before the change (default: origin/main)
  --head REF|FOLDER     after it (default: ., the files as they are now)
                        A value that is . or begins with ./, ../ or / is a folder; everything else a git ref.
                        A name that a branch, a tag or a remote share is refused: give refs/heads/NAME or a commit.
  --merge-base          compare with the best common ancestor of base and head instead (of HEAD, if head is a folder)
  --config FILE         routes.yaml of both (default: routes.yaml): in a folder relative to it, in a commit relative to
                        the current folder's path in the repository
  --environment NAME    merge routes.NAME.yaml of each side over it (default: SIGNALBOX_ENVIRONMENT, else none); if base
                        has none, standard error has a note
  --assertions FILE     assertions, looked up in head like --config (default: assertions.yaml beside the policies, if it
                        is there)
  --promote ID[@REV]    in the view "as if promoted", promote only this candidate of head, instead of all candidates
                        of both sides: a new policy, a change of one, or the removal of one that head no longer has.
                        REV: the first six or more digits of its digest. May be repeated
  --fresh               compare two new servers: on both sides, initial_mode decides the slot of every policy. Without
                        it, head starts with the policies that base enforces: each stays enforced until its
                        change or its removal is promoted
  --policies FILE       the policies of a server, from signalbox policy list --format json: base starts with what the
                        server enforces, whatever initial_mode says
  --server URL          the same from a running server; its key, with the scope governance:read, from SIGNALBOX_KEY
  --evidence FILE       exported evidence (signalbox evidence export): shows how often each change occurred
  --now DATE            the date that waivers are compared with, such as 2026-11-21 (default: today)

What is printed
  --format FORMAT       ${Object.keys(FORMATS).join(", ")} (default: ${DEFAULT_FORMAT});
                        one goes to standard output
  --format FORMAT=FILE  writes a file; an existing one is replaced. May be repeated
  --all                 on the terminal also requests with conditions, such as those for one provider by name, changed
                        reasons, rules that no request uses, and coverage
  --quiet               no progress on standard error (only a terminal shows it)

Resources
  --time-limit TIME     longest time for deciding requests, such as 90s (default: ${DEFAULT_TIME_LIMIT / 60_000}m); after it,
                        the report says what is missing and what took longest, and the exit code is 4
  --workers N           threads; 1: only the command's own (default: ${defaultWorkers()})
  --cache DIRECTORY     compiled policies (default: ${DEFAULT_CACHE_TEXT})

What fails
  --detailed-exitcode   exit 2 if something differs
  --fail-on VALUES      exit 3 if one of these happens as declared or, with --promote, as if promoted; separated
                        by commas:
                        ${FAIL_ON}
                        new_region_for_route: a route reaches a provider, region or host that it did not reach before,
                        also if another route of the workspace does
                        new_destination: the same, and no route of the workspace did
                        higher_ceiling: also for a raised limit
                        assertions: one was removed or weakened
                        any: also for settings that matter
                        more_permissive: also for a policy that would no longer refuse rows that do not exist yet
                        An incomparable change counts as more_permissive and as less_permissive.
  --help                this text

Exit codes: 0 no difference, or differences without --detailed-exitcode; 1 an error, such as an unknown ref or a side
that does not compile; 2 the command line cannot be used; 3 an assertion, a coverage gate or --fail-on failed; 4 not
every class was decided, or a policy newly cannot be evaluated. With --detailed-exitcode, 2 means differences, as
declared or as if promoted, and a command line that cannot be used ends with 1. If several apply: 1, then 3, then 4,
then 2.
`;
}
