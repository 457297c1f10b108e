import { explainCommand } from "../../../../simulate/explain/explain-command.ts";

/** The longest command that is shown, characters. */
const LONGEST = 4_000;

/** A word as `shellWord` writes it: plain, or in single quotes, where no shell reads anything into it. */
const WORD = /(?:([\w@%+:,./=-]+)|'([^']*)')(?: |$)/y;

/**
 * A command of a server's answer, to be pasted into a shell; `null` for anything that is not plainly `explain` with words. It is written anew from its words, so that
 * a server cannot have somebody paste more than an explanation.
 */
export function pastedCommand(text: unknown): string | null {
  if (typeof text !== "string" || text.length > LONGEST) return null;
  const words: string[] = [];
  WORD.lastIndex = 0;
  for (let at = 0; at < text.length; at = WORD.lastIndex) {
    WORD.lastIndex = at;
    const [, plain, quoted] = WORD.exec(text) ?? [];
    const word = plain ?? quoted;
    if (word === undefined) return null;
    words.push(word);
  }
  return words[0] === "explain" ? explainCommand(words) : null;
}
