import { printable, printableLines } from "./printing.ts";

/** What GitHub Actions makes of an annotation. */
export type AnnotationLevel = "error" | "warning" | "notice";

interface Annotation {
  readonly level: AnnotationLevel;
  /** `null`: the annotation belongs to no file. */
  readonly location: {
    readonly file: string;
    readonly line: number;
    readonly column: number;
  } | null;
  readonly title: string;
  readonly message: string;
}

/**
 * A workflow command of GitHub Actions that annotates, with its line feed. Nothing in the texts can
 * begin another command or property.
 */
export function formatAnnotation({ level, location, title, message }: Annotation): string {
  const where =
    location === null
      ? []
      : [
          `file=${escapeProperty(location.file)}`,
          `line=${location.line}`,
          `col=${location.column}`,
        ];
  return `::${level} ${[...where, `title=${escapeProperty(title)}`].join(",")}::${escapeData(message)}\n`;
}

function escapeData(text: string): string {
  return printableLines(text).replaceAll("%", "%25").replaceAll("\n", "%0A");
}

function escapeProperty(text: string): string {
  return escapeData(printable(text)).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
