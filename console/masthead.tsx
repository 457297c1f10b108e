import { signOut } from "./api/session.ts";
import { showsAll, signedIn } from "./api/session-state.ts";
import { useAction } from "./api/use-action.ts";
import { ErrorBox } from "./components/panel.tsx";
import { Code, Name } from "./components/text.tsx";
import { printable } from "./format/printable.ts";
import { SECTIONS } from "./pages/pages.tsx";
import { address, go, link, WORKSPACE } from "./router.ts";

/** Another workspace, on the page that is shown; `null`: all. */
export function linkToWorkspace(workspace: string | null): string {
  const { path, query } = address.value;
  // Filters name things of the workspace before; the time span does not.
  return link(path.slice(0, 1), { window: query.get("window"), [WORKSPACE]: workspace });
}

/** Sections that show the same in every workspace: a choice there would change nothing. */
const OF_NO_WORKSPACE: readonly string[] = ["policies", "report"];

/** The pages that the session may see, whose it is, and the way out. */
export function Masthead({ active }: { readonly active: string }) {
  const { failure, run } = useAction();
  const current = signedIn();
  if (current === null) return null;
  const { person, workspaces, workspace, roles, build_id } = current;
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
        {OF_NO_WORKSPACE.includes(active) ? null : (
          <label class="field">
            <span>Workspace</span>
            {workspaces.length < 2 ? (
              <Name of={workspace} />
            ) : (
              <select
                value={showsAll.value ? "" : (address.value.query.get(WORKSPACE) ?? workspace)}
                onChange={(event) => go(linkToWorkspace(event.currentTarget.value))}
              >
                <option value="">all workspaces</option>
                {workspaces.map((name) => (
                  <option key={name} value={name}>
                    {printable(name)}
                  </option>
                ))}
              </select>
            )}
          </label>
        )}
        <p>
          <Name of={person.name ?? person.subject} />
          <small>{roles.join(", ")}</small>
        </p>
        <button type="button" class="small" onClick={() => void run(signOut)}>
          Sign out
        </button>
        <ErrorBox failure={failure} />
        <p class="build">
          Build <Code of={build_id} />
        </p>
      </div>
    </header>
  );
}
