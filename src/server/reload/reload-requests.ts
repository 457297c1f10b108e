/**
 * Requests to reload, by SIGHUP or because files have changed. They may come at any time: before there is a server one is remembered, while
 * it drains they mean nothing.
 */
export class ReloadRequests {
  #reload: (() => void) | null = null;
  #waiting = false;

  /** Bound, so that it can be a signal's listener: without one SIGHUP would end the process. */
  readonly request = (): void => {
    if (this.#reload === null) this.#waiting = true;
    else this.#reload();
  };

  /** From now on requests are carried out, beginning with one that has waited. */
  begin(reload: () => void): void {
    this.#reload = reload;
    if (this.#waiting) reload();
  }

  /** From now on requests mean nothing. */
  end(): void {
    this.#reload = () => {};
  }
}
