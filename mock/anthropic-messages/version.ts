import { invalid, type Problem } from "../problem.ts";

/** The versions of the API that are served, in the header `anthropic-version`. */
const VERSIONS = ["2023-06-01", "2026-10-21"] as const;
export type Version = (typeof VERSIONS)[number];

/** What a request's headers say. */
export interface Edition {
  readonly version: Version;
  /** Values of the header `anthropic-beta`. */
  readonly betas: readonly string[];
}

/** Reads `anthropic-version` and `anthropic-beta`. */
export function readEdition(header: (name: string) => string): Edition | Problem {
  const written = header("anthropic-version");
  if (written === "") return invalid("anthropic-version", "header is required");
  const version = VERSIONS.find((known) => known === written);
  if (version === undefined)
    return invalid("anthropic-version", `the header must hold a version of the API: ${VERSIONS.join(" or ")}`);
  const betas = header("anthropic-beta")
    .split(/[,;]/)
    .map((value) => value.trim())
    .filter((value) => value !== "");
  const strange = betas.findIndex((value) => !/^[a-z0-9-]{1,60}-\d{4}-?\d{2}-?\d{2}$/.test(value));
  if (strange !== -1)
    return invalid("anthropic-beta", `value ${strange + 1} of the header must be the name and the date of a beta`);
  return { version, betas };
}

/** Whether a beta of this name is on, of whatever date. */
export function hasBeta(edition: Edition, name: string): boolean {
  return edition.betas.some((beta) => beta.startsWith(`${name}-`));
}
