import type { MetricsPage } from "../../http/runtime.ts";

/** The page of one process. */
export interface ProcessPage {
  /** Value of the label `worker`. */
  readonly worker: string;
  readonly page: MetricsPage;
}

const END = "# EOF";

/**
 * One page of several processes': families as they are, every sample with the label `worker`. All
 * pages are in one format.
 *
 * @param first is there even where no worker answers; the type of the content is its.
 */
export function mergePages(first: ProcessPage, others: readonly ProcessPage[]): MetricsPage {
  const families = new Map<string, { readonly facts: Set<string>; readonly samples: string[] }>();
  let isOpen = false;
  for (const { worker, page } of [first, ...others]) {
    let family = "";
    for (const line of page.text.split("\n")) {
      if (line === END) isOpen = true;
      if (line === "" || line === END) continue;
      const fact = /^# (?:HELP|TYPE|UNIT) (\S+)/.exec(line);
      if (fact !== null) family = fact[1] ?? "";
      const known = families.get(family) ?? { facts: new Set(), samples: [] };
      families.set(family, known);
      if (fact === null) known.samples.push(labelled(line, worker));
      else known.facts.add(line);
    }
  }
  const lines = [...families.values()].flatMap(({ facts, samples }) => [...facts, ...samples]);
  return {
    contentType: first.page.contentType,
    text: [...lines, ...(isOpen ? [END] : []), ""].join("\n"),
  };
}

/** A sample's name has no brace and no space, so the first of them ends it. */
function labelled(sample: string, worker: string): string {
  const label = `worker="${worker}"`;
  const at = /[{ ]/.exec(sample)?.index ?? sample.length;
  const name = sample.slice(0, at);
  return sample[at] === "{"
    ? `${name}{${label},${sample.slice(at + 1)}`
    : `${name}{${label}}${sample.slice(at)}`;
}
