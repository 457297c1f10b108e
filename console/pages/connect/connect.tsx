import type { ModelList } from "../../api/types.ts";
import { hasScope, inferenceUrl, signedIn } from "../../api/session-state.ts";
import { useResource } from "../../api/use-resource.ts";
import { Choice, Segments } from "../../components/form.tsx";
import { Panel } from "../../components/panel.tsx";
import { Facts } from "../../components/table.tsx";
import { Code, CopyButton } from "../../components/text.tsx";
import { printable } from "../../format/printable.ts";
import { address, link, replaceQuery } from "../../router.ts";
import { CURL, GROUPS, KEY } from "./clients.ts";

/** Chosen clients in the address, one of each group. */
const CHOSEN = "clients";

/** Base URL, key and a text to paste for each client. */
export function ConnectPage() {
  const { query } = address.value;
  const routes = useChatRoutes();
  const route = query.get("route") ?? routes?.[0] ?? "ROUTE";
  const lacksRoute = query.get("route") === null && routes?.length === 0;
  const base = inferenceUrl();
  const chosen = (query.get(CHOSEN) ?? "").split("|");
  return (
    <>
      <div class="title">
        <h1>Connect</h1>
        {routes === null || routes.length === 0 ? null : (
          <Choice
            label={`Route of ${signedIn()?.workspace ?? ""}`}
            value={route}
            options={routes}
            onChange={(value) => replaceQuery({ route: value, [CHOSEN]: query.get(CHOSEN) })}
          />
        )}
      </div>
      {lacksRoute ? <p class="notice widen">{NO_ROUTE}</p> : null}
      <Panel title="Every client needs">
        <Facts
          wide
          rows={[
            ["Base URL for OpenAI’s protocols", <Code of={`${base}/v1`} />],
            ["Base URL for Anthropic’s", <Code of={`${base}/api`} />],
            [
              "Key, in the environment",
              <span>
                <Code of={KEY} />{" "}
                {hasScope("operations:manage") ? <a href={link(["keys"])}>create one</a> : null}
              </span>,
            ],
          ]}
        />
      </Panel>
      {GROUPS.map(([title, clients]) => {
        const client = clients.find(({ name }) => chosen.includes(name)) ?? clients[0];
        if (client === undefined) return null;
        const others = chosen.filter((name) => !clients.some((each) => each.name === name));
        return (
          <Panel
            key={title}
            title={title}
            aside={
              lacksRoute ? null : <CopyButton key={client.name} text={client.text(base, route)} />
            }
          >
            <Segments
              label={title}
              value={client.name}
              options={clients.map(({ name }) => name)}
              onChange={(name) =>
                replaceQuery({
                  route: query.get("route"),
                  [CHOSEN]: [...others, name].filter((each) => each !== "").join("|"),
                })
              }
            />
            {client.note === undefined ? null : <p class="hint">{client.note}</p>}
            <pre>{client.text(base, printable(route))}</pre>
          </Panel>
        );
      })}
    </>
  );
}

/** A copied example without a route cannot work, so it is not offered for copying. */
const NO_ROUTE =
  "There is no route for chats yet. Approve one for it in routes.yaml; it then stands here instead of ROUTE.";

/** Routes of the workspace that answer chats; `null` until they are known. */
function useChatRoutes(): readonly string[] | null {
  const models = useResource<ModelList>(hasScope("catalogue:read") ? "/v1/models" : null);
  return models.value === null
    ? null
    : models.value.data.flatMap(({ id, operations }) =>
        operations.includes("chat.completions") ? [id] : [],
      );
}

/** Shown where nothing has been requested: an empty dashboard would be taken for a broken one. */
export function FirstRequest() {
  const routes = useChatRoutes();
  const route = routes?.[0] ?? "ROUTE";
  const base = inferenceUrl();
  const lacksRoute = routes?.length === 0;
  return (
    <Panel
      title="No request yet"
      aside={lacksRoute ? null : <CopyButton text={CURL.text(base, route)} />}
    >
      {lacksRoute ? <p class="notice widen">{NO_ROUTE}</p> : null}
      <p class="hint">
        Send one with an inference key of this workspace; it appears here within seconds. Calls of
        this page are not counted. <a href={link(["connect"])}>SDKs and coding agents</a>
      </p>
      <pre>{CURL.text(base, printable(route))}</pre>
    </Panel>
  );
}
