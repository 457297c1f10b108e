import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT, textOf } from "./support/imports.ts";

/** A use of a private word that is right, with the reason. */
interface Exception {
  /** Of the file, from `src`. */
  readonly path: RegExp;
  /** Of the line; any unless given. */
  readonly line?: RegExp;
  readonly why: string;
}

interface PrivateWord {
  readonly word: RegExp;
  /** Where the word is private; everywhere unless given. */
  readonly folders?: RegExp;
  /** The field's term, for the failure's message. */
  readonly write: string;
  readonly exceptions?: readonly Exception[];
}

/** A member or a variable, not a sentence. */
const CODE = /^(?!\s*(?:\/?\*|\/\/))(?!.*\s\/\/\s)/;

const NOT_SOURCES = /^(?:bench|console|mock|test|tools)\//;

const REPORT = /^src\/(?:cli\/)?simulate\//;

/**
 * Words that this program used in senses of its own. Each has the term that readers would search
 * for.
 */
const WORDS: readonly PrivateWord[] = [
  {
    word: /\bplaces?\b/i,
    write: "candidate, endpoint, location, position, or instead of",
    exceptions: [
      { path: /^src\/governance\//, line: /"place"|`place`/, why: "facet that summaries store" },
      {
        path: /^src\/store\/(?:postgres|sqlite)\//,
        line: CODE,
        why: "names in statements that databases keep",
      },
      {
        path: /^test\//,
        line: /"place"|c\.place|content, place/,
        why: "facet, a schema's name, and a statement of a migration",
      },
      { path: /./, line: /\bin place\b(?! of)/i, why: "to change a thing in place" },
      { path: /^src\/canon\/json\.ts$/, line: /place: after/, why: "report of a fault of V8" },
    ],
  },
  {
    word: /\bwords?\b/i,
    write: "value, enum value, name, code, text",
    exceptions: [
      { path: REPORT, line: CODE, why: "member `words` of reports" },
      {
        path: /^src\/policy\/kept-content\.ts$/,
        line: CODE,
        why: "member of contents that the store keeps",
      },
      { path: /^src\/policy\//, line: /words\.go/, why: "name of a file" },
      { path: /^src\/policy\/contract\/comparisons\.ts$/, line: CODE, why: "words between spaces" },
      { path: /^src\/cli\/commands\.ts$/, why: "words of a shell's command line" },
      { path: /^src\/cli\/terminal\/printing\.ts$/, why: "words of a text that is wrapped" },
      { path: /^src\/cli\/simulate\/simulate\.ts$/, why: "the same" },
      { path: /^src\/cli\/policy\/new\.ts$/, line: /kebab-case/, why: "words of a name" },
      {
        path: /^src\/canon\/(?:nearest-name|errors\/error-row|reasons)\.ts$/,
        why: "words of a text",
      },
      {
        path: /^src\/(?:server\/simulated-provider|server\/evidence)\.ts$/,
        why: "words of an answer",
      },
      {
        path: REPORT,
        line: /\bin words\b|`words`|its words|without quotes|GitLab's words|words are not split/,
        why: "words of a text, and the member `words`",
      },
      { path: /^test\/policy\//, line: /words\.go/, why: "name of a file" },
      {
        path: /^test\/cli\/(?:completion|lifecycle\/pasted-command)/,
        why: "words of a shell's command line",
      },
      { path: /^test\/docs\/commands\/(?:blocks|unexecuted-block)\.ts$/, why: "the same" },
      {
        path: /^(?:tools\/readability\/|test\/docs\/read(?:ability|ing-order))/,
        why: "words of a page are counted",
      },
      { path: /^mock\/(?:model\/completion|unary\/(?:moderate|rerank)\/)/, why: "words of a text" },
      { path: /^test\/clients\/matrix\/agents\//, line: /const PROMPT/, why: "a prompt" },
    ],
  },
  { word: /\b(?:asked|asks)\b/i, write: "requested, requires, evaluated" },
  {
    word: /\b(?:told|tells?)\b/i,
    write: "reported, distinguishes, emits",
  },
  {
    word: /\bleaves? (?:\S+ ){0,4}out\b/i,
    folders: NOT_SOURCES,
    write: "omit, exclude",
    exceptions: [
      {
        path: /^test\//,
        line: /(?:[;,]|or) leave (?:it|--merge-base) out(?:"| here)|one of the two out|leaves out a valid approval|may leave out \(/,
        why: "messages of the program",
      },
    ],
  },
  { word: /\bleave(?=\(|\)|,|;| =)/, folders: NOT_SOURCES, write: "release" },
  {
    word: /\b(?:whoever|nobody)\b/i,
    write: "the noun that is meant",
    exceptions: [
      {
        path: /^src\/canon\/reasons\.ts$/,
        line: /\["nobody"\]/,
        why: "name of a provider that does not exist",
      },
      {
        path: /^test\//,
        line: /["'`=/.]nobody|: nobody\b|Bearer nobody|NOBODY|const nobody|\bnobody\.json/,
        why: "names that do not exist, and the user of that name",
      },
    ],
  },
  {
    word: /\bestates?\b/i,
    write: "imported configuration, fixture",
    exceptions: [
      {
        path: /^test\/(?:docs|simulate\/causes)\//,
        line: /"estate"|"An estate"|\/estate\//,
        why: "folder of docs/examples/simulate",
      },
    ],
  },
  { word: /\bstanding\b/i, write: "status" },
  {
    word: /\bstandpoints?\b/i,
    write: "view",
    exceptions: [
      {
        path: /^test\/(?:cli\/)?simulate\//,
        line: /\bstandpoint(?::|\]|`| slot)/,
        why: "the same, and the old key of assertions",
      },
    ],
  },
  { word: /\bwitness(?:es)?\b/i, write: "example" },
  {
    word: /\bpassages?\b/i,
    write: "exchange plan, translation",
    exceptions: [
      { path: /^src\/dialects\//, line: /retrieval\.passage/, why: "value of Jina's protocol" },
      { path: /^src\/dialects\/cohere-chat\/.*rerank/, why: "passages of a document" },
    ],
  },
  {
    word: /\bpeers?\b/i,
    folders: /^src\//,
    write: "load-balanced group",
    exceptions: [
      {
        path: /^src\/(?:cli\/import|compile|dispatch|simulate)\//,
        line: /`\\?peers|peers\\?`|\bpeers\b[\s\],.:);=}[]|\bpeers\?|"peers?"/,
        why: "key `peers`",
      },
      { path: /^src\/store\/postgres\/pool\.ts$/, why: "the other end of a connection" },
    ],
  },
  {
    word: /\bliveness\b/i,
    write: "unused rules",
    exceptions: [
      {
        path: /^src\/http\/contract\/service-schemas\.ts$/,
        why: "what Kubernetes calls the probe",
      },
    ],
  },
  { word: /\b(?:extent|particulars)\b/i, write: "scope, details" },
  {
    word: /\b(?:token doors?|tellers?|stands? up to|la(?:y|ys|id) upon)\b/i,
    write: "token exchange, emitter, withstand, merge over",
  },
  {
    word: /\b(?:strangers?|scenes?|ledgers?|rosters?|outlook|bearing|remed(?:y|ies)|mend(?:s|ed)?)\b/i,
    write: "see the words of this list",
  },
];

const FOLDERS = [".ci", ".github", "bench", "console", "deploy", "mock", "src", "test", "tools"];
const TEXTS = /\.(?:tsx?|mjs|sh|ya?ml)$|^\.ci\//;
/** What was built or installed, and what tests expect byte for byte. */
const LEFT_OUT = /^(?:cases|dist|node_modules|\.vitepress)$/;

function textsBelow(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (LEFT_OUT.test(entry.name) || path === "test/vocabulary.test.ts") return [];
    if (entry.isDirectory()) return textsBelow(path);
    return entry.isFile() && TEXTS.test(path) ? [path] : [];
  });
}

const sources = FOLDERS.flatMap(textsBelow).map((path) => ({
  path,
  lines: textOf(join(ROOT, path)).split("\n"),
}));

describe("private words do not come back", () => {
  it.each(WORDS.map((row) => [String(row.word), row] as const))(
    "%s",
    (_, { word, folders = /./, write, exceptions = [] }) => {
      const found = sources.flatMap(({ path, lines }) =>
        (folders.test(path) ? lines : []).flatMap((line, index) => {
          const isRight = exceptions.some(
            (one) => one.path.test(path) && one.line?.test(line) !== false,
          );
          return word.test(line) && !isRight
            ? [`${path}:${index + 1}: write ${write}: ${line.trim()}`]
            : [];
        }),
      );
      expect(found).toEqual([]);
    },
  );

  it("every exception is needed", () => {
    const idle = WORDS.flatMap(({ word, exceptions = [] }) =>
      exceptions
        .filter(
          ({ path: where, line: form }) =>
            !sources.some(
              ({ path, lines }) =>
                where.test(path) &&
                lines.some((line) => word.test(line) && form?.test(line) !== false),
            ),
        )
        .map(({ path, why }) => `${word} ${path}: ${why}`),
    );
    expect(idle).toEqual([]);
  });
});
