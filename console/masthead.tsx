import { useState } from "preact/hooks";
import type { Failure } from "./api/client.ts";
import { chooseAllWorkspaces, chooseWorkspace, signOut } from "./api/session.ts";
import { session, showsAll } from "./api/session-state.ts";
import { ErrorBox } from "./components/panel.tsx";
import { Code, Name } from "./components/text.tsx";
import { printable } from "./format/printable.ts";
import { SECTIONS } from "./pages/pages.tsx";
import { link } from "./router.ts";

/** No workspace is called this: ids have no asterisk. */
const ALL = "*";

/** The pages that the session may see, whose it is, and the way out. */
export function Masthead({ active }: { readonly active: string }) {
  const [failure, setFailure] = useState<Failure | null>(null);
  const current = session.value;
  if (current?.signed_in !== true) return null;
  const { person, workspaces, workspace, roles, build_id } = current;
  const canShowAll = SECTIONS.some(
    (section) => section.path === active && section.showsAll === true,
  );
  const choose = async (chosen: string): Promise<void> => {
    if (chosen === ALL) return chooseAllWorkspaces();
    const result = await chooseWorkspace(chosen);
    setFailure(result === null || result.ok ? null : result.failure);
  };
  const endSession = async (): Promise<void> => {
    const result = await signOut();
    if (!result.ok) setFailure(result.failure);
  };
  return (
    <header class="masthead">
      <p class="brand">
        <a href={link([])}>Signalbox</a>
      </p>
      <nav aria-label="Pages">
        <ul>
          {SECTIONS.filter(
            ({ scopes }) =>
              scopes.length === 0 || scopes.some((scope) => current.scopes.includes(scope)),
          ).map(({ path, title }) => (
            <li key={path}>
              <a
                href={link(path === "" ? [] : [path])}
                aria-current={path === active ? "page" : undefined}
              >
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="who">
        <label class="field">
          <span>Workspace</span>
          {workspaces.length < 2 ? (
            <Name of={workspace} />
          ) : (
            <select
              value={canShowAll && showsAll.value ? ALL : workspace}
              onChange={(event) => void choose(event.currentTarget.value)}
            >
              {canShowAll ? <option value={ALL}>all workspaces</option> : null}
              {workspaces.map((name) => (
                <option key={name} value={name}>
                  {printable(name)}
                </option>
              ))}
            </select>
          )}
        </label>
        <p>
          <Name of={person.name ?? person.subject} />
          <small>{roles.join(", ")}</small>
        </p>
        <button type="button" class="small" onClick={() => void endSession()}>
          Sign out
        </button>
        {failure === null ? null : <ErrorBox failure={failure} />}
        <p class="build">
          Build <Code of={build_id} />
        </p>
      </div>
    </header>
  );
}
