import { useEffect, useRef } from "preact/hooks";
import type { CreatedKey } from "../../api/types.ts";
import { Code, CopyButton } from "../../components/text.tsx";

/**
 * The text of a new key, which is shown once: it is in no other answer and is gone when this is
 * closed.
 */
export function NewKey({
  made,
  onClose,
}: {
  readonly made: CreatedKey;
  readonly onClose: () => void;
}) {
  const container = useRef<HTMLElement>(null);
  useEffect(() => container.current?.focus(), []);
  return (
    <section ref={container} class="notice good" tabIndex={-1} aria-label="New key">
      <p class="strong">Store this key now. It is shown once.</p>
      <pre class="secret">
        <Code of={made.key} />
      </pre>
      <div class="actions">
        <CopyButton text={made.key} label="Copy key" />
        <button type="button" class="small" onClick={onClose}>
          I have stored it
        </button>
      </div>
    </section>
  );
}
