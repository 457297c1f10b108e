import type { Source } from "../../canon/diagnostic.ts";
import { finding, type PolicyCode, type PolicyDiagnostic } from "../codes.ts";

type SourceKind = "policy" | "test" | "library";

/** A source with the facts that follow from its path (docs/policies.md#files). */
export interface PolicyFile {
  readonly kind: SourceKind;
  /** A policy's id (a test's: the id of its policy), or a library's name. */
  readonly name: string;
  /** The package that the file must have, as names after `data`. */
  readonly package: readonly string[];
  /** With line ends converted to LF. */
  readonly source: Source;
}

/** Characters; a policy is read by people. */
const LONGEST_SOURCE = 256 * 1024;

/** Kebab-case. The package `…_test` belongs to tests, so no id may end like that. */
const POLICY_ID = /^(?!.*-test$)[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;
const LIBRARY_NAME = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/;
const LONGEST_NAME = 64;
const TEST_ENDING = "_test.rego";
const ENDING = ".rego";

function packageOfPolicy(id: string) {
  return id.replaceAll("-", "_");
}

/** Sorts the sources by their paths. A file at another path gets a finding and is not compiled. */
export function classifySources(sources: readonly Source[]): {
  readonly files: readonly PolicyFile[];
  readonly diagnostics: readonly PolicyDiagnostic[];
} {
  const files = new Map<string, PolicyFile>();
  const diagnostics: PolicyDiagnostic[] = [];
  for (const { path, text } of sources) {
    const report = (code: PolicyCode, message: string) => {
      diagnostics.push(finding(code, { file: path, line: 1, column: 1 }, message));
    };
    const identified = identify(path);
    if (identified === null) {
      report(
        "POLICY_FILE_NAME",
        "the file's name is neither a policy's, nor a test's, nor a library's",
      );
      continue;
    }
    const key = identified.package.join(".");
    if (text.length > LONGEST_SOURCE)
      report("POLICY_TOO_LARGE", "the file is larger than 256 kilobytes");
    else if (files.has(key))
      report(
        "POLICY_DUPLICATE",
        `another file is the ${identified.kind} ${identified.name} already`,
      );
    else files.set(key, { ...identified, source: { path, text: text.replaceAll("\r\n", "\n") } });
  }
  return { files: [...files.values()].toSorted(byPackage), diagnostics };
}

function identify(path: string): Omit<PolicyFile, "source"> | null {
  const folders = path.split("/");
  const base = folders.pop() ?? "";
  const test = base.endsWith(TEST_ENDING);
  if (!base.endsWith(ENDING)) return null;
  const name = base.slice(0, -(test ? TEST_ENDING : ENDING).length);
  if (name.length > LONGEST_NAME) return null;
  if (folders.at(-1) === "lib") {
    if (test || !LIBRARY_NAME.test(name)) return null;
    return { kind: "library", name, package: ["signalbox", "lib", name] };
  }
  if (!POLICY_ID.test(name)) return null;
  const packageName = packageOfPolicy(name);
  return test
    ? { kind: "test", name, package: ["signalbox", "policy", `${packageName}_test`] }
    : { kind: "policy", name, package: ["signalbox", "policy", packageName] };
}

function byPackage(left: PolicyFile, right: PolicyFile): number {
  const [one, other] = [left.package.join("."), right.package.join(".")];
  return one < other ? -1 : one > other ? 1 : 0;
}
