/** Arguments that no shell expands. A leading equals sign means a path to zsh, a tilde a home. */
const PLAIN = /^[\w@%+:,./-][\w@%+:,./=-]*$/;
/** What moves a cursor, hides or turns text round: it must not get to a terminal, nor into a clipboard unseen. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** An argument of a command line, quoted for POSIX shells; invisible characters are written in octal digits. */
export function shellArgument(text: string): string {
  if (PLAIN.test(text)) return text;
  if (!UNSEEN.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  const written = Array.from(text, (character) => {
    if (character === "'" || character === "\\") return `\\${character}`;
    if (!UNSEEN.test(character)) return character;
    return Array.from(new TextEncoder().encode(character), (byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
  });
  return `$'${written.join("")}'`;
}

/** Arguments of a command line, ready to be pasted. */
export function shellLine(args: readonly string[]): string {
  return args.map(shellArgument).join(" ");
}

/** The command line that explains an example, ready to be pasted. */
export function explainCommand(args: readonly string[]): string {
  return shellLine(["signalbox", ...args]);
}
