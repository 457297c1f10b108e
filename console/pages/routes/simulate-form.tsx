import { useState } from "preact/hooks";
import { call, member } from "../../api/client.ts";
import type { Model, RouteSimulation } from "../../api/types.ts";
import { useAction } from "../../api/use-action.ts";
import { Choice, Field } from "../../components/form.tsx";
import { printable } from "../../format/printable.ts";
import { ErrorBox, Panel } from "../../components/panel.tsx";
import { SimulationAnswer } from "./simulation-answer.tsx";
import { OPERATIONS } from "./use-routes.ts";

/** Simulates a request; no provider is called. */
export function SimulateForm({ models }: { readonly models: readonly Model[] }) {
  const [model, setModel] = useState(models[0]?.id ?? "");
  const [operation, setOperation] = useState<string>(OPERATIONS[0]);
  const [needs, setNeeds] = useState<readonly string[]>([]);
  const [answer, setAnswer] = useState<RouteSimulation | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const { busy, failure, run } = useAction<RouteSimulation>(setAnswer);
  const capabilities = models.find(({ id }) => id === model)?.capabilities ?? [];

  const submit = (form: FormData): void => {
    const text = form.get("request");
    const whole = typeof text === "string" ? text.trim() : "";
    const request = whole === "" ? null : readJson(whole);
    setProblem(
      request === undefined
        ? "The request is not JSON. Correct it, or leave the field empty."
        : null,
    );
    if (request === undefined) return;
    const region = form.get("region");
    const body = {
      model,
      ...(typeof region === "string" &&
        region.trim() !== "" && { provider: { region: region.trim() } }),
      ...(request === null ? { needs, stream: form.get("stream") !== null } : { request }),
      ...(form.get("promoted") !== null && { promoted: true }),
    };
    void run(() =>
      call<RouteSimulation>(`/v1/route/simulate?operation=${operation}`, { method: "POST", body }),
    );
  };

  return (
    <Panel title="How would a request be decided?">
      <form
        class="stack wide"
        aria-label="Simulate a request"
        onSubmit={(event) => {
          event.preventDefault();
          submit(new FormData(event.currentTarget));
        }}
      >
        <div class="filters">
          <Choice
            label="Operation"
            value={operation}
            options={OPERATIONS}
            onChange={setOperation}
          />
          <Choice
            label="Model"
            value={model}
            options={models.map(({ id }) => id)}
            onChange={setModel}
          />
          <Field label="Preferred region">
            <input name="region" autocomplete="off" />
          </Field>
        </div>
        <fieldset class="checks">
          <legend>The request needs</legend>
          {capabilities.map((name) => (
            <label key={name} class="check">
              <input
                type="checkbox"
                checked={needs.includes(name)}
                onChange={({ currentTarget: { checked } }) =>
                  setNeeds(checked ? [...needs, name] : needs.filter((each) => each !== name))
                }
              />
              <span>{printable(name)}</span>
            </label>
          ))}
          <label class="check">
            <input type="checkbox" name="stream" />
            <span>a stream</span>
          </label>
          <label class="check">
            <input type="checkbox" name="promoted" />
            <span>decided as if candidates of policies were promoted</span>
          </label>
        </fieldset>
        <Field
          label="Or a whole request, as JSON"
          hint="Replaces the fields above. It is not stored."
        >
          <textarea
            name="request"
            rows={3}
            spellcheck={false}
            placeholder='{"messages": [{"role": "user", "content": "Hello"}]}'
          />
        </Field>
        <div class="actions">
          <button type="submit" class="primary" disabled={busy || model === ""}>
            {busy ? "Deciding…" : "Simulate"}
          </button>
        </div>
      </form>
      {problem === null ? null : (
        <p class="notice stop" role="alert">
          {problem}
        </p>
      )}
      <ErrorBox failure={failure} />
      {answer === null ? null : <SimulationAnswer answer={answer} />}
    </Panel>
  );
}

/** `undefined` for text that is no JSON object. */
function readJson(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && member(value, "length") === undefined
      ? value
      : undefined;
  } catch {
    return undefined;
  }
}
