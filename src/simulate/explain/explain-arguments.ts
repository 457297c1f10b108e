import type { Operation } from "../../canon/operation.ts";
import { ALWAYS_USED } from "../../canon/request.ts";
import { PLAIN_SAMPLE, type SampleRequest } from "../sample-request.ts";

/** The environment of a key without one, in `signalbox explain` as in `signalbox keys create`. */
export const DEFAULT_ENVIRONMENT = "production";

/** Members that `--point` of `signalbox explain` may omit, with their defaults. */
export function sampleDefaults(operation: Operation): SampleRequest {
  return {
    ...PLAIN_SAMPLE,
    key: { environment: DEFAULT_ENVIRONMENT, workload: "", labels: [] },
    features: (ALWAYS_USED[operation] ?? []).toSorted(),
  };
}

const FILES = ["config", "environment", "base", "head"] as const;

/**
 * The command line that explains a sample, without the program's name:
 * `explain --point {"workspace":"demo",…}`.
 *
 * @param files that the command line is about, seen from the folder in which it is run. `base`: the
 * ref or folder that decides which contents are enforced, default: the files alone. `head`: the ref
 * or folder that has the files, default: the current folder. `config`: default `routes.yaml`.
 * `environment`: whose overlay is merged over it.
 */
export function explainArguments(
  sample: SampleRequest,
  files: Partial<Record<(typeof FILES)[number], string | null>> = {},
): readonly string[] {
  const { workspace, operation, model, key, time, ...others } = sample;
  const defaults = sampleDefaults(operation);
  const point = {
    workspace,
    operation,
    model,
    ...changedMembers(
      { key: changedMembers(key, defaults.key), ...others },
      { ...defaults, key: {} },
    ),
    time,
  };
  return [
    "explain",
    ...flag("point", JSON.stringify(point)),
    ...FILES.flatMap((name) => {
      const value = files[name] ?? null;
      return value === null ? [] : flag(name, value);
    }),
  ];
}

/** The members that differ from their defaults. */
function changedMembers(value: object, defaults: object): object {
  return Object.fromEntries(
    Object.entries(value).filter(
      ([name, member]) => JSON.stringify(member) !== JSON.stringify(Reflect.get(defaults, name)),
    ),
  );
}

/** A value that looks like a flag must be joined to its flag. */
function flag(name: string, value: string): readonly string[] {
  return value === "" || value.startsWith("-") ? [`--${name}=${value}`] : [`--${name}`, value];
}

/** Arguments that no shell expands. A leading equals sign means a path to zsh, a tilde a home. */
const PLAIN = /^[\w@%+:,./-][\w@%+:,./=-]*$/;
/**
 * Characters that move the cursor, hide or reverse text: they must not reach a terminal or a
 * clipboard unseen.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/**
 * An argument of a command line, quoted for POSIX shells; invisible characters are written in octal
 * digits.
 */
export function shellArgument(text: string): string {
  if (PLAIN.test(text)) return text;
  if (!UNSEEN.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  const escaped = Array.from(text, (character) => {
    if (character === "'" || character === "\\") return `\\${character}`;
    if (!UNSEEN.test(character)) return character;
    return Array.from(
      new TextEncoder().encode(character),
      (byte) => `\\${byte.toString(8).padStart(3, "0")}`,
    ).join("");
  });
  return `$'${escaped.join("")}'`;
}

/** Arguments of a command line, ready to be pasted. */
export function shellLine(args: readonly string[]): string {
  return args.map(shellArgument).join(" ");
}

/** The command line that explains an example, ready to be pasted. */
export function explainCommand(args: readonly string[]): string {
  return shellLine(["signalbox", ...args]);
}
