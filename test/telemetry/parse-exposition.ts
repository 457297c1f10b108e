/** One series of a page. */
export interface ParsedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ParsedFamily {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly unit: string | null;
  readonly samples: readonly ParsedSample[];
}

type Format = "prometheus" | "openmetrics";

const NAME = /^[a-z][a-z0-9_]*$/;

const SUFFIXES: Readonly<Record<ParsedFamily["type"], readonly string[]>> = {
  counter: ["_total"],
  gauge: [""],
  histogram: ["_bucket", "_sum", "_count"],
};

interface Draft {
  name: string;
  type: ParsedFamily["type"] | null;
  help: string;
  unit: string | null;
  samples: ParsedSample[];
}

/**
 * Reads a page strictly: every family has HELP and TYPE before its samples and stands in one piece,
 * no name and no series comes twice, histograms add up.
 *
 * @throws {Error} naming the line and the rule.
 */
export function parseExposition(
  page: string,
  format: Format = "prometheus",
): ReadonlyMap<string, ParsedFamily> {
  const families = new Map<string, ParsedFamily>();
  let lines = page.split("\n");
  check(lines.pop() === "", "the page ends with a line break", page.slice(-40));
  if (format === "openmetrics") {
    check(lines.at(-1) === "# EOF", "the page ends with # EOF", lines.at(-1) ?? "");
    lines = lines.slice(0, -1);
  }
  const drafts: Draft[] = [];
  for (const line of lines) {
    const draft = drafts.at(-1);
    const comment = /^# (HELP|TYPE|UNIT) (\S+) (.*)$/.exec(line);
    if (comment === null) {
      if (draft === undefined) throw new Error(`samples follow their family: ${line}`);
      draft.samples.push(parseSample(line));
      continue;
    }
    const [, keyword = "", name = "", rest = ""] = comment;
    if (keyword === "HELP") {
      const isNew = drafts.every((one) => one.name !== name);
      check(NAME.test(name) && isNew, "a family has a plain name and stands once", line);
      drafts.push({
        name,
        type: null,
        help: unescaped(rest, format === "openmetrics", line),
        unit: null,
        samples: [],
      });
      continue;
    }
    if (draft?.name !== name || draft.samples.length > 0)
      throw new Error(`metadata follows HELP: ${line}`);
    if (keyword === "UNIT") draft.unit = rest;
    else {
      check(
        rest === "counter" || rest === "gauge" || rest === "histogram",
        "the type is a known one",
        line,
      );
      draft.type = rest as ParsedFamily["type"];
    }
  }
  for (const draft of drafts) families.set(draft.name, finished(draft));
  const owners = new Map<string, string>();
  for (const family of families.values()) checkFamily(family, format, owners);
  return families;
}

function finished({ name, type, help, unit, samples }: Draft): ParsedFamily {
  if (type === null) throw new Error(`no TYPE: ${name}`);
  return { name, type, help, unit, samples };
}

function checkFamily(
  { name, type, unit, samples }: ParsedFamily,
  format: Format,
  owners: Map<string, string>,
): void {
  const base = format === "prometheus" && type === "counter" ? name.replace(/_total$/, "") : name;
  if (format === "prometheus" && type === "counter")
    check(name.endsWith("_total"), "a counter ends with _total", name);
  if (format === "openmetrics") check(!name.endsWith("_total"), "a family has no suffix", name);
  if (unit !== null) check(base.endsWith(`_${unit}`), "the name ends with the unit", name);
  const seen = new Set<string>();
  for (const sample of samples) {
    const suffix = sample.name.slice(base.length);
    check(
      sample.name.startsWith(base) && SUFFIXES[type].includes(suffix),
      `a sample is of ${name}`,
      sample.name,
    );
    const series = `${sample.name}${JSON.stringify(Object.entries(sample.labels).map(String).toSorted())}`;
    check(!seen.has(series), "a series comes once", series);
    seen.add(series);
    check(type === "gauge" || sample.value >= 0, "counts are not negative", series);
    const owner = owners.get(sample.name) ?? name;
    check(owner === name, "a sample's name belongs to one family", sample.name);
    owners.set(sample.name, name);
  }
  if (type === "histogram") checkHistogram(base, samples);
}

function checkHistogram(base: string, samples: readonly ParsedSample[]): void {
  const keyOf = (labels: Readonly<Record<string, string>>): string =>
    JSON.stringify({ ...labels, le: null });
  const groups = Map.groupBy(samples, ({ labels }) => keyOf(labels));
  for (const group of groups.values()) {
    const buckets = group.filter(({ name }) => name === `${base}_bucket`);
    const bounds = buckets.map(({ labels }) =>
      labels.le === "+Inf" ? Infinity : Number(labels.le),
    );
    check(
      bounds.every((bound, position) => position === 0 || bound > (bounds[position - 1] ?? 0)),
      "bounds rise",
      base,
    );
    check(bounds.at(-1) === Infinity, "the last bound is +Inf", base);
    check(
      buckets.every(({ value }, position) => value >= (buckets[position - 1]?.value ?? 0)),
      "buckets add up",
      base,
    );
    const count = group.find(({ name }) => name === `${base}_count`)?.value;
    check(count !== undefined && count === buckets.at(-1)?.value, "+Inf is the count", base);
    check(
      group.some(({ name }) => name === `${base}_sum`),
      "there is a sum",
      base,
    );
  }
}

function parseSample(line: string): ParsedSample {
  const parsed = /^([a-z][a-z0-9_]*)(?:\{(.*)\})? (\S+)$/.exec(line);
  if (parsed === null) throw new Error(`not a sample: ${line}`);
  const [, name = "", inner = "", value = ""] = parsed;
  const labels: Record<string, string> = {};
  let rest = inner;
  while (rest !== "") {
    const label = /^([a-z][a-z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/.exec(rest);
    if (label === null) throw new Error(`not a label: ${rest}`);
    const [whole, key = "", text = ""] = label;
    check(!Object.hasOwn(labels, key), "a label comes once", line);
    labels[key] = unescaped(text, true, line);
    rest = rest.slice(whole.length);
  }
  const number = value === "+Inf" ? Infinity : Number(value);
  check(!Number.isNaN(number), "the value is a number", line);
  return { name, labels, value: number };
}

function unescaped(text: string, withQuotes: boolean, line: string): string {
  return text.replaceAll(/\\(.?)/gs, (_, next: string) => {
    check(
      next === "\\" || next === "n" || (withQuotes && next === '"'),
      "an escape is a known one",
      line,
    );
    return next === "n" ? "\n" : next;
  });
}

function check(holds: boolean, rule: string, where: string): void {
  if (!holds) throw new Error(`${rule}: ${where}`);
}

/** The sum of a family's samples that have these labels. */
export function sumOf(
  families: ReadonlyMap<string, ParsedFamily>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const base = name.replace(/_(bucket|sum|count)$/, "");
  const family = families.get(name) ?? families.get(base);
  if (family === undefined) throw new Error(`no family ${name}`);
  return family.samples
    .filter((sample) => sample.name === name)
    .filter((sample) =>
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    )
    .reduce((sum, { value }) => sum + value, 0);
}
