import { useEffect, useRef, useState } from "preact/hooks";
import { Panel } from "../../components/panel.tsx";
import { Field } from "../../components/form.tsx";
import { Command, Name } from "../../components/text.tsx";

/** Bytes; a report of a million classes has some 20 MB. */
const LARGEST = 200_000_000;

/** Opens a `report.json` of `signalbox simulate`. The file stays in the browser. */
export function ReportPage() {
  const [name, setName] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const container = useRef<HTMLDivElement>(null);

  const open = async (file: File): Promise<void> => {
    setProblem(null);
    setName(null);
    if (container.current === null) return;
    if (file.size > LARGEST) {
      setProblem(
        "The file is too large to be read here. Make HTML of it: signalbox simulate --format html.",
      );
      return;
    }
    // Apart: only who opens a report needs what draws it.
    const { showReport } = await import("./show-report.ts");
    const wrong = showReport(await file.text(), container.current);
    if (wrong === null) setName(file.name);
    else setProblem(wrong);
  };

  return (
    <>
      <div class="title">
        <h1>Simulation report</h1>
      </div>
      <Panel title="Open a report">
        <details open={name === null}>
          <summary>{name === null ? "From a file" : "Another file"}</summary>
          <Field
            label="report.json"
            hint="Choose the file or drop it here. It stays in this browser; nothing is sent."
          >
            <input
              type="file"
              accept=".json,application/json"
              onChange={(event) => {
                const file = event.currentTarget.files?.[0];
                if (file !== undefined) void open(file);
              }}
            />
          </Field>
        </details>
        {problem === null ? null : (
          <p class="notice stop" role="alert">
            {problem}
          </p>
        )}
        {name === null ? (
          <Command
            title="An artefact of CI, or made in the folder of routes.yaml"
            text="signalbox simulate main --format json=report.json"
          />
        ) : (
          <div class="actions" role="status">
            <span>
              Shown below: <Name of={name} />
            </span>
            <ChangeFilter container={container} />
          </div>
        )}
      </Panel>
      <div ref={container} class="report" />
    </>
  );
}

/** Hides changes that do not have the text. */
function ChangeFilter({
  container,
}: {
  readonly container: { readonly current: HTMLElement | null };
}) {
  const [text, setText] = useState("");
  useEffect(() => {
    const changes = container.current?.shadowRoot?.querySelectorAll<HTMLElement>(".block") ?? [];
    const wanted = text.trim().toLowerCase();
    for (const change of changes)
      change.hidden = !(change.textContent ?? "").toLowerCase().includes(wanted);
  }, [text]);
  return (
    <input
      type="search"
      class="small"
      aria-label="Show changes with this text"
      placeholder="show changes with…"
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
    />
  );
}
