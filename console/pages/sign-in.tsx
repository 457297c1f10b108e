import { useEffect, useRef } from "preact/hooks";
import type { SignedOut } from "../api/session-answer.ts";
import { signIn } from "../api/session.ts";
import { signInNotice } from "../api/session-state.ts";
import { useAction } from "../api/use-action.ts";
import { ErrorBox } from "../components/panel.tsx";
import { Name } from "../components/text.tsx";
import { address, link, readAddress } from "../router.ts";

/**
 * The link of `serve --demo` carries a code that is good once. It is taken out of the address
 * before it is used.
 */
function takeCode(): string | null {
  const [, code] = /^#sign-in=([\w.~-]+)$/.exec(location.hash) ?? [];
  if (code === undefined) return null;
  history.replaceState(null, "", link([]));
  address.value = readAddress(location.hash);
  return code;
}

/**
 * Sign-in by the organisation's provider, or by pasting a key, which is exchanged for a session and
 * not kept.
 */
export function SignIn({ offered }: { readonly offered: SignedOut }) {
  const { busy, failure, run } = useAction();
  const input = useRef<HTMLInputElement>(null);

  const enter = async (
    credential: { readonly key: string } | { readonly code: string },
  ): Promise<void> => {
    if ((await run(() => signIn(credential))) === null) input.current?.focus();
  };
  useEffect(() => {
    document.title = "Sign in · Signalbox";
    const code = takeCode();
    if (code !== null) void enter({ code });
    else input.current?.focus();
  }, []);

  const oidc = offered.sign_in?.oidc ?? null;
  const withKey = offered.sign_in?.key ?? true;
  return (
    <main class="alone">
      <h1>Sign in to Signalbox</h1>
      {signInNotice.value === null ? null : (
        <p class="notice widen" role="status">
          {signInNotice.value}
        </p>
      )}
      <ErrorBox failure={failure} />
      {oidc === null ? null : (
        <p>
          <a class="button primary" href={oidc.url}>
            Continue with <Name of={oidc.name} />
          </a>
        </p>
      )}
      {withKey ? (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            const key = input.current?.value.trim() ?? "";
            if (key !== "") void enter({ key });
          }}
        >
          <label class="field">
            <span>{oidc === null ? "Service key" : "Or a service key"}</span>
            <input
              ref={input}
              type="password"
              autocomplete="off"
              spellcheck={false}
              required
              placeholder="sbx_…"
              aria-describedby="key-hint"
            />
          </label>
          <p id="key-hint" class="hint">
            A key with any scope but <code>inference</code>. It is exchanged for a session of this
            browser and not stored here.
          </p>
          <button type="submit" class={oidc === null ? "primary" : undefined} disabled={busy}>
            {busy ? "Signing in…" : "Sign in"}
          </button>
        </form>
      ) : null}
    </main>
  );
}
