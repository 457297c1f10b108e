import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ABSENT } from "../format/amounts.ts";
import { printable } from "../format/printable.ts";

/**
 * A name from outside: it may be long, and may hold marks that turn text around, which must not
 * reach what follows.
 */
export function Name({ of }: { readonly of: string | null | undefined }) {
  return of === null || of === undefined || of === "" ? (
    <Absent />
  ) : (
    <bdi class="name">{printable(of)}</bdi>
  );
}

/** The same for ids, digests and commands. */
export function Code({
  of,
  short,
}: {
  readonly of: string | null | undefined;
  readonly short?: number;
}) {
  if (of === null || of === undefined || of === "") return <Absent />;
  const text = short !== undefined && of.length > short ? `${of.slice(0, short)}…` : of;
  return (
    <code class="name" title={text === of ? undefined : printable(of)}>
      <bdi>{printable(text)}</bdi>
    </code>
  );
}

/** A sentence of the server, whose parts in backticks are code. */
export function Sentence({ of }: { readonly of: string }) {
  return (
    <bdi>
      {printable(of)
        .split("`")
        .map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part))}
    </bdi>
  );
}

export function Absent() {
  return <span class="absent">{ABSENT}</span>;
}

export type Tone = "stop" | "widen" | "narrow" | "quiet" | "good";

export function Badge({
  tone = "quiet",
  children,
}: {
  readonly tone?: Tone;
  readonly children: ComponentChildren;
}) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** Copies a text; the label confirms it for two seconds. */
export function CopyButton({
  text,
  label = "Copy",
}: {
  readonly text: string;
  readonly label?: string;
}) {
  const [result, setResult] = useState<string | null>(null);
  useEffect(() => {
    if (result === null) return undefined;
    const timer = setTimeout(() => setResult(null), 2_000);
    return () => clearTimeout(timer);
  }, [result]);
  const copy = async (): Promise<void> => {
    const copied = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
    setResult(copied ? "Copied" : "Not copied");
  };
  return (
    <button type="button" class="small" onClick={() => void copy()}>
      <span aria-live="polite">{result ?? label}</span>
    </button>
  );
}

/** A command or a text to copy. */
export function Command({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <div class="command">
      <span>{title}</span>
      <CopyButton text={text} />
      <pre>
        <Code of={text} />
      </pre>
    </div>
  );
}
