import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Failure } from "./api/client.ts";
import { followWorkspace, loadSession } from "./api/session.ts";
import { session } from "./api/session-state.ts";
import { ErrorBox } from "./components/panel.tsx";
import { printable } from "./format/printable.ts";
import { Masthead } from "./masthead.tsx";
import { pageOf } from "./pages/pages.tsx";
import { SignIn } from "./pages/sign-in.tsx";
import { address, WORKSPACE } from "./router.ts";

export function App() {
  const [failure, setFailure] = useState<Failure | null>(null);
  const load = async (): Promise<void> => {
    const result = await loadSession();
    setFailure(result.ok ? null : result.failure);
  };
  useEffect(() => {
    void load();
  }, []);
  const current = session.value;
  // The answer of an ended session does not have the ways to sign in.
  const unasked = current?.signed_in === false && current.sign_in === undefined;
  useEffect(() => {
    if (unasked) void load();
  }, [unasked]);
  const workspace = address.value.query.get(WORKSPACE);
  useEffect(() => {
    void followWorkspace();
  }, [workspace, current?.signed_in]);
  if (failure !== null && current === null) {
    return (
      <main class="alone">
        <h1>Signalbox</h1>
        <ErrorBox failure={failure} retry={() => void load()} />
      </main>
    );
  }
  if (current === null) return <main class="alone" aria-busy="true" />;
  if (!current.signed_in) return <SignIn offered={current} />;
  return <SignedInPage />;
}

function SignedInPage() {
  const page = pageOf(address.value.path);
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  const where = address.value.path.join("/");
  useEffect(() => {
    document.title = printable(`${page.title} · Signalbox`);
    // A reader of the screen hears the new page; the first page keeps the browser's own focus.
    if (!first.current) {
      main.current?.focus();
      scrollTo(0, 0);
    }
    first.current = false;
  }, [where]);
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          // The address is the router's.
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to the page
      </a>
      <div class="frame">
        <Masthead active={page.section} />
        <main id="main" ref={main} tabIndex={-1}>
          <Keyed of={where}>{page.render()}</Keyed>
        </main>
      </div>
    </>
  );
}

/** A page begins anew for another address. */
function Keyed({ of, children }: { readonly of: string; readonly children: ComponentChildren }) {
  return <div key={of}>{children}</div>;
}
