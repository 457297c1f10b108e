/** A page of metrics with its content type. */
interface Exposition {
  readonly contentType: string;
  readonly text: string;
}

const PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";
const OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/**
 * All families in Prometheus' text format, or in OpenMetrics where the scraper names it.
 *
 * @param accept the request's header of that name.
 */
export function formatExposition(
  families: readonly Family[],
  accept: string | undefined,
): Exposition {
  const isOpenMetrics = accept?.includes("application/openmetrics-text") === true;
  const text = families.map((family) => formatFamily(family, isOpenMetrics)).join("");
  return isOpenMetrics
    ? { contentType: OPEN_METRICS, text: `${text}# EOF\n` }
    : { contentType: PROMETHEUS, text };
}

/** A family's full name in Prometheus' text format. */
export function familyName({ kind, name }: Pick<Family, "kind" | "name">): string {
  return kind === "counter" ? `${name}_total` : name;
}

function formatFamily(family: Family, isOpenMetrics: boolean): string {
  const name = isOpenMetrics ? family.name : familyName(family);
  let text = `# HELP ${name} ${escaped(family.help, isOpenMetrics)}\n# TYPE ${name} ${family.kind}\n`;
  const unit = /_(seconds|bytes|ratio)$/.exec(name)?.[1];
  if (isOpenMetrics && unit !== undefined) text += `# UNIT ${name} ${unit}\n`;
  for (const sample of family.samples()) text += formatSample(family.name, sample);
  return text;
}

function formatSample(name: string, { suffix, labels, value }: Sample): string {
  const inner = labels.map(([label, text]) => `${label}="${escaped(text, true)}"`).join(",");
  return `${name}${suffix}${inner === "" ? "" : `{${inner}}`} ${numberText(value)}\n`;
}

function numberText(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}

/** Few labels have one of them. Looking first takes a scrape of 273 kB from 17 to 7 ms of CPU. */
const SPECIAL = /[\\\n"]/;

/** @param withQuotes not in a HELP line of Prometheus' own format. */
function escaped(text: string, withQuotes: boolean): string {
  if (!SPECIAL.test(text)) return text;
  const plain = text.replaceAll("\\", String.raw`\\`).replaceAll("\n", String.raw`\n`);
  return withQuotes ? plain.replaceAll('"', String.raw`\"`) : plain;
}

/** A value for each label, in the order in which the family names them. */
type LabelValues<Labels extends readonly string[]> = { readonly [Index in keyof Labels]: string };

/** One line of an exposition. */
interface Sample {
  /** Suffix of the family's name: `_total`, `_bucket`, `_sum`, `_count` or nothing. */
  readonly suffix: string;
  readonly labels: readonly (readonly [name: string, value: string])[];
  readonly value: number;
}

/** A metric; exposition and docs/observability.md are made from it. */
export interface Family<Labels extends readonly string[] = readonly string[]> {
  readonly kind: "counter" | "gauge" | "histogram";
  /**
   * Without the `_total` of a counter. Ends with the base unit: `_seconds`, `_bytes` or `_ratio`.
   */
  readonly name: string;
  /** One sentence without a line break. */
  readonly help: string;
  readonly labels: Labels;
  samples(): Iterable<Sample>;
}

/**
 * Series that one family holds at most. Every label is an id of the table, of a policy or of an
 * enum, so a sane configuration stays far below it; the bound keeps a thousand reloads of ever new
 * tables from filling the memory.
 */
const MOST_SERIES = 20_000;

interface Series<Value> {
  readonly labels: readonly string[];
  readonly value: Value;
}

/** Series that begin with the same labels, by the next one. */
type Branch<Value> = Map<string, Branch<Value> | Series<Value>>;

/**
 * A family with its series by their label values. Series beyond the bound are dropped and counted.
 * One map for each label and not one for all, so that a request makes no text of its labels to find
 * its series.
 */
class SeriesFamily<const Labels extends readonly string[], Value> {
  readonly name: string;
  readonly help: string;
  readonly labels: Labels;
  readonly #root: Branch<Value> = new Map();
  readonly #series: Series<Value>[] = [];
  readonly #make: () => Value;
  readonly #most: number;
  dropped = 0;

  constructor(name: string, help: string, labels: Labels, make: () => Value, most: number) {
    this.name = name;
    this.help = help;
    this.labels = labels;
    this.#make = make;
    this.#most = most;
  }

  protected take(labels: readonly string[]): Value | null {
    let found: Branch<Value> | Series<Value> | undefined =
      labels.length === 0 ? this.#root.get("") : this.#root;
    for (const label of labels) if (found instanceof Map) found = found.get(label);
    return found === undefined || found instanceof Map ? this.#begin(labels) : found.value;
  }

  protected all(): Iterable<Series<Value>> {
    return this.#series;
  }

  #begin(labels: readonly string[]): Value | null {
    if (this.#series.length >= this.#most) {
      this.dropped += 1;
      return null;
    }
    const series = { labels, value: this.#make() };
    this.#series.push(series);
    let branch = this.#root;
    for (const label of labels.slice(0, -1)) {
      const existing = branch.get(label);
      const next = existing instanceof Map ? existing : new Map();
      branch.set(label, next);
      branch = next;
    }
    branch.set(labels.at(-1) ?? "", series);
    return series.value;
  }
}

/** Only rises; starts at nothing. */
export class Counter<const Labels extends readonly string[]>
  extends SeriesFamily<Labels, { total: number }>
  implements Family<Labels>
{
  readonly kind = "counter";

  constructor(name: string, help: string, labels: Labels, most = MOST_SERIES) {
    super(name, help, labels, () => ({ total: 0 }), most);
  }

  /**
   * @param by zero or more; anything else is left out, for a counter that falls reads as a restart.
   */
  add(by: number, ...labels: LabelValues<Labels>): void {
    if (!(by >= 0)) return;
    const series = this.take(labels);
    if (series !== null) series.total += by;
  }

  *samples(): Iterable<Sample> {
    for (const { labels, value } of this.all()) {
      yield { suffix: "_total", labels: named(this.labels, labels), value: value.total };
    }
  }
}

interface Distribution {
  /** Observations by the first bound that is not below them; the last is beyond every bound. */
  readonly counts: Float64Array;
  sum: number;
}

/** How many values lay below each of some bounds. */
export class Histogram<const Labels extends readonly string[]>
  extends SeriesFamily<Labels, Distribution>
  implements Family<Labels>
{
  readonly kind = "histogram";
  readonly #bounds: readonly number[];

  /** @param bounds rising; infinity is added. */
  constructor(
    name: string,
    help: string,
    labels: Labels,
    bounds: readonly number[],
    most = MOST_SERIES,
  ) {
    const empty = (): Distribution => ({ counts: new Float64Array(bounds.length + 1), sum: 0 });
    super(name, help, labels, empty, most);
    this.#bounds = bounds;
  }

  observe(value: number, ...labels: LabelValues<Labels>): void {
    if (!Number.isFinite(value)) return;
    const series = this.take(labels);
    if (series === null) return;
    let index = 0;
    while (index < this.#bounds.length && value > (this.#bounds[index] ?? 0)) index += 1;
    series.counts[index] = (series.counts[index] ?? 0) + 1;
    series.sum += value;
  }

  *samples(): Iterable<Sample> {
    for (const { labels, value } of this.all()) {
      const labelPairs = named(this.labels, labels);
      let below = 0;
      for (const [index, count] of value.counts.entries()) {
        below += count;
        const bound = this.#bounds[index] ?? Infinity;
        yield {
          suffix: "_bucket",
          labels: [...labelPairs, ["le", boundText(bound)]],
          value: below,
        };
      }
      yield { suffix: "_sum", labels: labelPairs, value: value.sum };
      yield { suffix: "_count", labels: labelPairs, value: below };
    }
  }
}

/** Values that are kept elsewhere and read at each scrape. */
export function reading<const Labels extends readonly string[]>(
  kind: "counter" | "gauge",
  name: string,
  help: string,
  labels: Labels,
  read: () => Iterable<readonly [value: number, ...labels: LabelValues<Labels>]>,
): Family {
  const suffix = kind === "counter" ? "_total" : "";
  return {
    kind,
    name,
    help,
    labels,
    *samples() {
      for (const [value, ...values] of read())
        yield { suffix, labels: named(labels, values), value };
    },
  };
}

/** A value without labels; no sample where it is `null`. */
export function single(
  kind: "counter" | "gauge",
  name: string,
  help: string,
  read: () => number | null,
): Family {
  return reading(kind, name, help, [], () => {
    const value = read();
    return value === null ? [] : [[value]];
  });
}

/** A family as it was read at one moment, for another process. */
export interface ReadFamily extends Omit<Family, "samples"> {
  readonly samples: readonly Sample[];
}

export function readFamilies(families: readonly Family[]): readonly ReadFamily[] {
  return families.map((family) => {
    const { kind, name, help, labels } = family;
    return { kind, name, help, labels, samples: [...family.samples()] };
  });
}

/** The families of several processes, every sample with the label `worker`. */
export function joinFamilies(
  processes: readonly (readonly [worker: string, families: readonly ReadFamily[]])[],
): readonly Family[] {
  const joined = new Map<string, ReadFamily>();
  for (const [worker, families] of processes) {
    for (const family of families) {
      const earlier = joined.get(family.name)?.samples ?? [];
      const samples = family.samples.map(({ labels, ...sample }): Sample => ({
        ...sample,
        labels: [["worker", worker], ...labels],
      }));
      joined.set(family.name, { ...family, samples: earlier.concat(samples) });
    }
  }
  return [...joined.values()].map((family) => ({ ...family, samples: () => family.samples }));
}

function named(
  names: readonly string[],
  values: readonly string[],
): readonly (readonly [string, string])[] {
  return names.map((name, index) => [name, values[index] ?? ""] as const);
}

/**
 * As OpenMetrics wants numbers in labels: always with a point, so that a bound is one series under
 * both formats.
 */
function boundText(bound: number): string {
  if (bound === Infinity) return "+Inf";
  return Number.isInteger(bound) ? `${bound}.0` : String(bound);
}
