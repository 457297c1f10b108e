import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { Failure } from "../api/client.ts";
import type { Resource } from "../api/use-resource.ts";
import { Code, Sentence } from "./text.tsx";

/** A titled part of a page. */
export function Panel(props: {
  readonly title: string;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  const id = useId();
  return (
    <section class="panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>{props.title}</h2>
        {props.aside === undefined ? null : <div class="aside">{props.aside}</div>}
      </header>
      {props.children}
    </section>
  );
}

/** The failure of a call, with the server's sentence and the id by which its log has it. */
export function ErrorBox({
  failure,
  retry,
}: {
  readonly failure: Failure | null;
  readonly retry?: (() => void) | undefined;
}) {
  if (failure === null) return null;
  return (
    <div class="notice stop" role="alert">
      <p>
        <Sentence of={failure.message} />{" "}
        {typeof failure.facts.fix === "string" ? <Sentence of={failure.facts.fix} /> : null}
      </p>
      <p class="small">
        {failure.status === 0 ? null : `Status ${failure.status}, `}
        <Code of={failure.code} />
        {failure.requestId === null ? null : (
          <>
            , request <Code of={failure.requestId} />
          </>
        )}
        {failure.retryAfter === null ? null : `, try again in ${Math.ceil(failure.retryAfter)} s`}
      </p>
      {retry === undefined ? null : (
        <button type="button" class="small" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** An empty list or page; `children` is the next step. */
export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <p class="strong">{title}</p>
      {children === undefined ? null : <p>{children}</p>}
    </div>
  );
}

/** An older server, or one without the part, does not have the path. */
export const isUnavailable = ({ status, code }: Failure): boolean =>
  status === 404 && code === "unknown_path";

/** The answer of a resource, or what is shown until there is one. */
export function Loaded<Value>(props: {
  readonly of: Resource<Value>;
  readonly children: (value: Value) => ComponentChildren;
  /** Lines of the placeholder, so that the page does not jump. */
  readonly lines?: number;
}) {
  const { value, failure, loading, reload } = props.of;
  if (failure !== null && isUnavailable(failure)) {
    return (
      <Empty title="Not available on this server">
        Its version does not have this part of the API. Update the server.
      </Empty>
    );
  }
  return (
    <>
      <span class="visually-hidden" role="status">
        {loading && value === null ? "Loading" : ""}
      </span>
      <ErrorBox failure={failure} retry={reload} />
      {value === null ? (
        failure === null ? (
          <Placeholder lines={props.lines ?? 4} />
        ) : null
      ) : (
        props.children(value)
      )}
    </>
  );
}

function Placeholder({ lines }: { readonly lines: number }) {
  return (
    <div class="placeholder" aria-hidden="true">
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} />
      ))}
    </div>
  );
}
