// `npm run tool -- readability`: the figures of each page that people write, and of the decisions;
// with `-- COMMIT`, of the pages of a commit. `-- --long PAGE` prints the long sentences of a page.
import { LONG, measure, sentencesOf, shareOfLong, type Readability } from "./measure.ts";
import { pagesAt } from "./pages.ts";

const [argument = null, page = ""] = process.argv.slice(2);
if (argument === "--long") {
  const long = sentencesOf(pagesAt(null).get(page) ?? "").filter(
    (sentence) => measure(sentence.replaceAll("`", "")).words > LONG,
  );
  process.stdout.write(long.map((sentence) => `- ${sentence}\n`).join(""));
} else {
  const measured = [...pagesAt(argument)].map(([path, text]) => [path, measure(text)] as const);
  const isDecision = ([path]: readonly [string, Readability]): boolean =>
    path.startsWith("docs/decisions/");
  const decisions = measured.filter((row) => isDecision(row));
  const pages = measured.filter((row) => !isDecision(row));
  const rows = [
    ...measured,
    [`${pages.length} pages`, together(pages)] as const,
    [`${decisions.length} decisions`, together(decisions)] as const,
    ["all", together(measured)] as const,
  ].map(([path, value]) => {
    const { words, tables, code } = value;
    const average = (words / value.sentences).toFixed(1);
    return `| ${path} | ${words} | ${tables} | ${words + tables} | ${code} | ${average} | ${shareOfLong(value).toFixed(1)} |`;
  });
  process.stdout.write(
    [
      `| Page | In sentences | In tables | Both | In code blocks | Words a sentence | Over ${LONG} words, % |`,
      "|---|---:|---:|---:|---:|---:|---:|",
      ...rows,
      "",
    ].join("\n"),
  );
}

function together(rows: readonly (readonly [string, Readability])[]): Readability {
  const add = (key: keyof Readability): number =>
    rows.reduce((sum, [, value]) => sum + value[key], 0);
  return {
    words: add("words"),
    sentences: add("sentences"),
    long: add("long"),
    tables: add("tables"),
    code: add("code"),
  };
}
