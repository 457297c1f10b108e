/** A line of a policy's text. */
export interface RuleLine {
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

/**
 * Every rule `pass.<constraint>` or `pass["<constraint>"]` of a module, from its head to its
 * closing brace.
 */
export function ruleLines(source: string, constraint: string): readonly RuleLine[] {
  const heads = [`pass.${constraint}`, `pass["${constraint}"]`];
  const found: RuleLine[] = [];
  let isInside = false;
  for (const [at, text] of source.split("\n").entries()) {
    const isHead = heads.some(
      (head) => text.startsWith(head) && !/^\w/.test(text.slice(head.length)),
    );
    if (isHead || isInside) found.push({ number: at + 1, text });
    if (isHead) isInside = text.trimEnd().endsWith("{");
    else if (text.startsWith("}")) isInside = false;
  }
  return found;
}
