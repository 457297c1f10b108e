import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { programAtHand } from "./support/at-hand.ts";
import {
  filesBelow,
  importsOf,
  reachableFrom,
  ROOT,
  shown,
  SOURCE,
  textOf,
} from "./support/imports.ts";

const sources = filesBelow(SOURCE).filter((path) => path.endsWith(".ts"));
const simulated = filesBelow(join(ROOT, "mock")).filter((path) => path.endsWith(".ts"));
const ofConsole = filesBelow(join(ROOT, "console")).filter((path) => /\.tsx?$/.test(path));
/** The files that a file imports. */
const targetsOf = (path: string): readonly string[] =>
  importsOf(path).flatMap(({ target }) => target ?? []);

/**
 * What a file imports by name, as `src/file.ts: name`; `*` where it takes a module as a whole, as
 * `import("…")` does.
 */
function importedNames(path: string): ReadonlySet<string> {
  const text = textOf(path);
  const statement = /^import (?:type )?(?:\{([^}]*)\}|\* as \w+) from "([^"]+)"/gm;
  const named = [...text.matchAll(statement)].flatMap(([, names = "*", from = ""]) =>
    names
      .split(",")
      .map((name) => [from, name.replace("type ", "").split(" as ")[0]?.trim() ?? ""] as const),
  );
  const whole = [...text.matchAll(/\bimport\(\s*"([^"]+)"/g)].map(
    ([, from = ""]) => [from, "*"] as const,
  );
  return new Set(
    [...named, ...whole].map(([from, name]) => `${shown(resolve(dirname(path), from))}: ${name}`),
  );
}

describe("the shape of the repository", () => {
  it("docs/architecture.md names every folder at the top of src, and nothing else", () => {
    const table =
      /\n## Folders\n([\s\S]*?)\n## /.exec(textOf(join(ROOT, "docs/architecture.md")))?.[1] ?? "";
    const rows = table
      .split("\n")
      .filter((line) => line.startsWith("| `") && !line.includes("(beside `src/`)"));
    const named = rows.flatMap((row) =>
      [...(row.split("|")[1] ?? "").matchAll(/`([a-z]+)\/`/g)].map(([, name]) => name),
    );
    const present = readdirSync(SOURCE).filter((name) =>
      statSync(join(SOURCE, name)).isDirectory(),
    );
    expect(new Set(named)).toEqual(new Set(present));
  });

  it("no source file has more than 600 lines", () => {
    const long = [...sources, ...simulated, ...ofConsole]
      .filter((path) => textOf(path).split("\n").length > 601)
      .map(shown);
    expect(long).toEqual([]);
  });

  it("no line of a comment is wider than 100 columns", () => {
    const wide = [...sources, ...simulated, ...ofConsole].flatMap((path) =>
      textOf(path)
        .split("\n")
        .filter(
          (line) => line.length > 100 && /^\s*(\/\/|\/?\*\*?) (?!oxlint-|@example)/.test(line),
        )
        .map((line) => `${shown(path)}: ${line.trim()}`),
    );
    expect(wide).toEqual([]);
  });

  it("no file or folder is called index, utils, helpers, common or misc", () => {
    const bad = [...sources, ...ofConsole]
      .filter((path) => /\/(index|utils?|helpers?|common|misc)(\.tsx?|\/)/.test(path))
      .map(shown);
    expect(bad).toEqual([]);
  });

  it("every export is imported somewhere", () => {
    const everywhere = ["src", "mock", "console", "tools", "test", "bench"].flatMap((folder) =>
      filesBelow(join(ROOT, folder)),
    );
    const used = new Set(
      everywhere.filter((path) => /\.tsx?$/.test(path)).flatMap((path) => [...importedNames(path)]),
    );
    const declared =
      /^export (?:abstract |async |declare )*(?:function\*?|const|class|interface|type|let) (\w+)/gm;
    const unused = sources.flatMap((path) =>
      [...textOf(path).matchAll(declared)]
        .map(([, name = ""]) => `${shown(path)}: ${name}`)
        .filter((each) => !used.has(each) && !used.has(`${shown(path)}: *`)),
    );
    expect(unused).toEqual([]);
  });

  it("the files that simulate and check cannot reach dispatch: no provider can be called from there", () => {
    const files = [
      "cli/check.ts",
      "cli/explain/explain.ts",
      "simulate/explain/explanation.ts",
      "cli/simulate/simulate.ts",
      "http/control/simulate.ts",
      "decide/decide.ts",
      "compile/compile.ts",
    ];
    for (const file of files) {
      const reached = [...reachableFrom(join(SOURCE, file))].map(shown);
      expect(reached.length, file).toBeGreaterThan(1);
      expect(
        reached.filter((path) => path.startsWith("src/dispatch/")),
        file,
      ).toEqual([]);
    }
  });

  it("simulating a change serves no request and opens no store", () => {
    const reached = [...reachableFrom(join(SOURCE, "cli/simulate/simulate.ts"))].map(shown);
    expect(reached.length).toBeGreaterThan(1);
    expect(reached.filter((path) => /^src\/(http|store|telemetry)\//.test(path))).toEqual([]);
    // Lists of addresses open nothing.
    const lists = /^import \{ BlockList, isIPv4, isIPv6, SocketAddress \} from "node:net";$/m;
    const openers = reached.filter((path) =>
      /from "(node:sqlite|node:net|node:http|node:https|pg|h3|undici)"/.test(
        textOf(join(ROOT, path)).replace(lists, ""),
      ),
    );
    expect(openers).toEqual([]);
  });

  it("the simulated provider imports types of canon and nothing else of src", () => {
    const outside = simulated
      .flatMap((path) => targetsOf(path).map(shown))
      .filter((path) => !path.startsWith("mock/"));
    expect(new Set(outside)).toEqual(new Set(["src/canon/json.ts"]));
    const notTypes = simulated.filter((path) => /^(?!import type )[^\n]*src\//m.test(textOf(path)));
    expect(notTypes.map(shown)).toEqual([]);
  });

  it("the console's page imports only types of src and the report printer: no server code reaches browsers", () => {
    const notTypes = ofConsole.filter((path) =>
      /^(?:import|export) (?!type )(?:[^;"]*)"(?:\.\.\/)+src\//m.test(textOf(path)),
    );
    expect(notTypes.map(shown)).toEqual(["console/pages/report/show-report.ts"]);
  });

  it("no file of the console writes markup or styles that its content policy forbids", () => {
    const bad = ofConsole.filter((path) =>
      /dangerouslySetInnerHTML|\bstyle=|innerHTML|\beval\(/.test(textOf(path)),
    );
    expect(bad.map(shown)).toEqual([]);
  });

  it("one file of src imports the simulated provider, and a server that simulates nothing does not load it", () => {
    const importers = sources.filter((path) =>
      targetsOf(path).some((target) => shown(target).startsWith("mock/")),
    );
    expect(importers.map(shown)).toEqual(["src/server/simulated-provider.ts"]);
    const loaded = /^(?:import|export) (?!type )[^\n]*mock\//m;
    expect(importers.filter((path) => loaded.test(textOf(path))).map(shown)).toEqual([]);
  });

  it("JSON with names from outside is read by parseJson, which avoids the engine's fault (nodejs/node#63785)", () => {
    const ownTexts = [
      "src/canon/json.ts",
      // A script of the page; objects whose names are ours; a string; numbers.
      "src/cli/simulate/formats/html/script.ts",
      "src/cli/policy/testing/coverage.ts",
      "src/dispatch/credentials/authorize.ts",
      "src/policy/toolchain/toolchain.ts",
      "src/dialects/unary/one-meaning.ts",
      "src/dialects/unary/vectors.ts",
    ];
    const readers = sources.filter((path) => textOf(path).includes("JSON.parse(")).map(shown);
    expect(readers.toSorted()).toEqual(ownTexts.toSorted());
  });

  it("members of wire formats are named in dialects only", () => {
    // Names of wire formats that mean nothing else here; `max_output_tokens` and `reasoning_effort`
    // are members of policies too.
    const members =
      "max_completion_tokens|max_tokens|best_of|image_url|input_image|input_audio|input_file|video_url|prompt_cache_key|stream_options|include_usage|parallel_tool_calls|tool_choice|tool_calls|finish_reason|stop_reason|stop_sequences?|top_p|top_k|top_n|top_logprobs|frequency_penalty|presence_penalty|logit_bias|response_format|encoding_format|output_dimension|input_type|relevance_score|return_documents|max_tokens_per_doc|category_scores|prompt_tokens|completion_tokens|cache_control|content_block|message_start|budget_tokens|previous_response_id|billed_units|service_tier|anthropic-[a-z]+|x-ratelimit-[a-z]+|inferenceConfig|generationConfig|systemInstruction";
    const named = new RegExp(`["'\`.]/?(?:${members})["'\`]?\\b|\\b(?:${members}):`);
    const reasons: Readonly<Record<string, string>> = {
      "src/http/contract/key-schemas.ts": "`max_tokens` is a member of our own token exchange",
      "src/http/control/service-keys/exchange-handler.ts": "the same",
      "src/http/cross-origin.ts": "headers that web pages may send and read, over all protocols",
      "src/keys/tokens/token-exchange.ts": "`max_tokens` is a claim of our own tokens",
      "src/compile/authored/schema-supply.ts":
        "the description of `betas`, whose values stand in that header",
      "src/simulate/space/universe.ts": "features of canon, which have names of members",
    };
    // canon has features named after members, and messages for callers; of the commands, `import`
    // reads other programs' configurations.
    const elsewhere = /^src\/(?:dialects|canon|cli)\//;
    const found = sources
      .filter((path) => named.test(textOf(path)))
      .map(shown)
      .filter((path) => !elsewhere.test(path));
    expect(found.toSorted()).toEqual(Object.keys(reasons).toSorted());
  });

  it("no code compares with a vendor's name", () => {
    const vendors =
      "openai|anthropic|azure|bedrock|gemini|google|cohere|mistral|groq|deepseek|openrouter|perplexity|xai|ollama|vllm";
    const comparison = new RegExp(`(===|!==|startsWith\\(|includes\\(|case )\\s*"(${vendors})"`);
    const bad = sources.filter((path) => comparison.test(textOf(path))).map(shown);
    expect(bad).toEqual([]);
  });
});

describe("tests that require optional programs", () => {
  const AT_HAND = join(ROOT, "test/support/at-hand.ts");
  /** In every POSIX system, and so on every machine that Node runs on. */
  const EVERYWHERE = new Set(["sh", "sed", "mkfifo"]);
  const tests = filesBelow(join(ROOT, "test")).filter(
    (path) => path.endsWith(".ts") && path !== AT_HAND,
  );

  it("look for programs through test/support/at-hand.ts, so that .ci/run runs them without those programs too", () => {
    const named = /\b(?:spawn|spawnSync|execFile|execFileSync)\(\s*"([^"]+)"/g;
    const bad = tests.filter(
      (path) =>
        [...textOf(path).matchAll(named)].some(([, program = ""]) => !EVERYWHERE.has(program)) &&
        !reachableFrom(path).has(AT_HAND),
    );
    expect(bad.map(shown)).toEqual([]);
  });

  it("look for files beside the project through test/support/at-hand.ts", () => {
    const bad = tests.filter((path) => /"(?:\.\.\/)+shared\//.test(textOf(path)));
    expect(bad.map(shown)).toEqual([]);
  });
});

describe("tracked files", () => {
  const tracked =
    programAtHand("git") !== null && existsSync(join(ROOT, ".git"))
      ? execFileSync("git", ["ls-files", "-z"], { cwd: ROOT, encoding: "utf8" })
          .split("\0")
          .filter((name) => name !== "" && existsSync(join(ROOT, name)))
      : [];

  it.skipIf(tracked.length === 0)(
    "holds no registry host and no path of a machine (needs git and a checkout)",
    () => {
      // Written in pieces, so that this file does not find itself.
      const hosts = ["registry", "proxy", "static", "files"].map(
        (name) => `${name}\\.(npm|go|crates|pypi)[a-z]*\\.`,
      );
      const paths = ["work", "root"].map((folder) => `/${folder}/`);
      const pattern = new RegExp([...hosts, ...paths].join("|"));
      const bad = tracked.filter(
        (name) => !/\.(br|gz|png|wasm)$/.test(name) && pattern.test(textOf(join(ROOT, name))),
      );
      expect(bad).toEqual([]);
    },
  );

  it("has a lockfile without download addresses", () => {
    expect(textOf(join(ROOT, "package-lock.json"))).not.toMatch(/"resolved": "http/);
  });

  it("carries Node only in a workspace that is not published", () => {
    const manifest: { dependencies: object; optionalDependencies?: object; files: string[] } =
      JSON.parse(textOf(join(ROOT, "package.json")));
    expect(manifest.optionalDependencies).toBeUndefined();
    expect(Object.keys(manifest.dependencies).filter((name) => name.startsWith("node-"))).toEqual(
      [],
    );
    expect(manifest.files).not.toContain("tools");
  });
});
