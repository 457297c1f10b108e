import { inferenceUrl } from "../../api/session-state.ts";
import { Panel } from "../../components/panel.tsx";
import { CopyButton } from "../../components/text.tsx";
import { link } from "../../router.ts";

/** Shown where nothing has been requested: an empty dashboard would be taken for a broken one. */
export function FirstRequest() {
  const command = `curl ${inferenceUrl()}/v1/chat/completions \\
  -H "Authorization: Bearer $SIGNALBOX_KEY" -H "Content-Type: application/json" \\
  -d '{"model": "ROUTE", "messages": [{"role": "user", "content": "Hello"}]}'`;
  return (
    <Panel title="No request yet" aside={<CopyButton text={command} />}>
      <p class="hint">
        Send one with an inference key of this workspace; it appears here within seconds. Calls of
        this page are not counted. <a href={link(["connect"])}>SDKs and coding agents</a>
      </p>
      <pre>{command}</pre>
    </Panel>
  );
}
