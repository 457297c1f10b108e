import { useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { CreatedKey, CreateKey } from "../../api/types.ts";
import { showsAll, signedIn } from "../../api/session-state.ts";
import { useAction } from "../../api/use-action.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Choice, Field } from "../../components/form.tsx";
import { ErrorBox } from "../../components/panel.tsx";
import { printable } from "../../format/printable.ts";
import { useKeyNames } from "./key-names.tsx";

type Scope = CreateKey["scopes"][number];

const SCOPES: Readonly<Record<Scope, string>> = {
  inference: "call models",
  "catalogue:read": "list models",
  "route:simulate": "request how a request would be decided",
  "spend:read": "read what was spent",
  "policies:approve": "approve policies",
  "governance:read": "read decisions, policies and summaries",
  "operations:manage": "manage keys and policies",
};
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of the record above
const NAMES = Object.keys(SCOPES) as Scope[];

const DAYS = [
  ["90", "90 days"],
  ["1", "1 day"],
  ["7", "7 days"],
  ["30", "30 days"],
  ["180", "180 days"],
  ["365", "365 days"],
] as const;

const PERIODS = ["month", "week", "day", "hour"] as const;

export function CreateKeyDialog(props: {
  readonly onClose: () => void;
  readonly onDone: (key: CreatedKey) => void;
}) {
  const [days, setDays] = useState<string>(DAYS[0][0]);
  const [per, setPer] = useState<string>(PERIODS[0]);
  const [scopes, setScopes] = useState<readonly Scope[]>(["inference", "catalogue:read"]);
  const current = signedIn();
  const workspaces = (showsAll.value ? current?.workspaces : undefined) ?? [];
  const [workspace, setWorkspace] = useState(current?.workspace ?? "");
  const { busy, failure, run } = useAction<CreatedKey>(props.onDone);
  const known = [...useKeyNames().values()];
  const submit = (form: HTMLFormElement): void => {
    const body = bodyOf(new FormData(form), scopes, Number(days), per);
    void run(() => call<CreatedKey>("/v1/keys", { method: "POST", body, workspace }));
  };
  return (
    <Dialog title="Create a key" onClose={props.onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit(event.currentTarget);
        }}
      >
        <ErrorBox failure={failure} />
        {workspaces.length === 0 ? null : (
          <Choice
            label="Workspace of the key"
            value={workspace}
            options={workspaces}
            onChange={setWorkspace}
          />
        )}
        <Field label="Name" hint="For people, such as checkout-prod; rotations keep it">
          <input
            name="name"
            maxLength={64}
            pattern="[A-Za-z0-9._\-]+"
            title="Letters, digits, full stops, underlines and hyphens"
            autocomplete="off"
          />
        </Field>
        <Field label="Owner" hint="A person or a group, such as group:payments">
          <input name="owner" required maxLength={128} list="owners" />
        </Field>
        <fieldset>
          <legend>Scopes</legend>
          {NAMES.map((scope) => (
            <label key={scope} class="check">
              <input
                type="checkbox"
                checked={scopes.includes(scope)}
                onChange={(event) =>
                  setScopes(
                    event.currentTarget.checked
                      ? [...scopes, scope]
                      : scopes.filter((each) => each !== scope),
                  )
                }
              />
              <span>
                <code>{scope}</code> <small>{SCOPES[scope]}</small>
              </span>
            </label>
          ))}
        </fieldset>
        <div class="filters">
          <Choice label="Expires after" value={days} options={DAYS} onChange={setDays} />
          <Field label="Environment">
            <input name="environment" maxLength={16} placeholder="production" list="environments" />
          </Field>
          <Field label="Workload">
            <input name="workload" maxLength={64} list="workloads" />
          </Field>
          <Values id="environments" of={known.map(({ environment }) => environment)} />
          <Values id="workloads" of={known.map(({ workload }) => workload)} />
          <Values id="owners" of={known.map(({ owner }) => owner)} />
        </div>
        <Field label="Labels" hint="Separated by commas; policies and approvals look at them">
          <input name="labels" autocomplete="off" />
        </Field>
        <div class="filters">
          <Field label="Requests a minute">
            <input name="requests" type="number" min={1} step={1} />
          </Field>
          <Field label="Tokens a minute">
            <input name="tokens" type="number" min={1} step={1} />
          </Field>
          <Field label="Budget, US dollars">
            <input name="budget" type="number" min={0.01} step="any" />
          </Field>
          <Choice label="for each" value={per} options={PERIODS} onChange={setPer} />
        </div>
        <div class="actions">
          <button type="submit" class="primary" disabled={busy || scopes.length === 0}>
            Create
          </button>
          <button type="button" onClick={props.onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Values that other keys have. */
function Values({ id, of }: { readonly id: string; readonly of: readonly (string | null)[] }) {
  return (
    <datalist id={id}>
      {[...new Set(of)].map((value) =>
        value === null || value === "" ? null : <option key={value} value={printable(value)} />,
      )}
    </datalist>
  );
}

/** Fields that were left empty are left out: the server's defaults apply. */
function bodyOf(form: FormData, scopes: readonly Scope[], days: number, per: string): CreateKey {
  const text = (name: string): string => {
    const value = form.get(name);
    return typeof value === "string" ? value.trim() : "";
  };
  const [name, environment, workload] = [text("name"), text("environment"), text("workload")];
  const labels = text("labels")
    .split(",")
    .map((label) => label.trim())
    .filter((label) => label !== "");
  const limits = {
    ...(text("requests") !== "" && { requests_per_minute: Number(text("requests")) }),
    ...(text("tokens") !== "" && { tokens_per_minute: Number(text("tokens")) }),
    ...(text("budget") !== "" && { budget: { usd: Number(text("budget")), per: periodOf(per) } }),
  };
  return {
    ...(name !== "" && { name }),
    owner: text("owner"),
    scopes,
    expires_in: days * 86_400,
    ...(environment !== "" && { environment }),
    ...(workload !== "" && { workload }),
    ...(labels.length > 0 && { labels }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}

const periodOf = (per: string): (typeof PERIODS)[number] =>
  PERIODS.find((period) => period === per) ?? "month";
