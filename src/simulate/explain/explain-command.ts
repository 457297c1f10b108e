/** Words that no shell reads anything into. An equals sign in front means a path to zsh, a tilde a home. */
const PLAIN = /^[\w@%+:,./-][\w@%+:,./=-]*$/;
/** What moves a cursor, hides or turns text round: it must not get to a terminal, nor into a clipboard unseen. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** A word of a command line, quoted for POSIX shells; what cannot be seen is written in octal digits. */
export function shellWord(word: string): string {
  if (PLAIN.test(word)) return word;
  if (!UNSEEN.test(word)) return `'${word.replaceAll("'", "'\\''")}'`;
  const written = Array.from(word, (character) => {
    if (character === "'" || character === "\\") return `\\${character}`;
    if (!UNSEEN.test(character)) return character;
    return Array.from(Buffer.from(character, "utf8"), (byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
  });
  return `$'${written.join("")}'`;
}

/** Words of a command line, ready to be pasted. */
export function shellLine(words: readonly string[]): string {
  return words.map(shellWord).join(" ");
}

/** The command line that explains a witness, ready to be pasted. */
export function explainCommand(words: readonly string[]): string {
  return shellLine(["signalbox", ...words]);
}
