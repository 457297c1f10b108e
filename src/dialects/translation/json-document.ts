/**
 * Notices when an object or a list that arrives in pieces is whole, by its brackets: each character is looked at once, however many pieces there
 * are. Text that is not JSON is whole or not by the same rule; whoever reads it finds out.
 */
export class JsonDocument {
  #depth = 0;
  #begun = false;
  #inString = false;
  #escaped = false;

  /** Nothing but white space has arrived. */
  isEmpty = true;

  get isWhole(): boolean {
    return this.#begun && this.#depth <= 0;
  }

  push(text: string): void {
    if (this.isEmpty) this.isEmpty = text.trim() === "";
    for (let index = 0; index < text.length; index += 1) {
      const character = text.charCodeAt(index);
      if (this.#inString) this.#readInString(character);
      else this.#readOutside(character);
    }
  }

  #readInString(character: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (character === BACKSLASH) this.#escaped = true;
    else if (character === QUOTE) this.#inString = false;
  }

  #readOutside(character: number): void {
    if (character === QUOTE) {
      this.#inString = true;
    } else if (character === OPEN_BRACE || character === OPEN_BRACKET) {
      this.#begun = true;
      this.#depth += 1;
    } else if (character === CLOSE_BRACE || character === CLOSE_BRACKET) {
      this.#depth -= 1;
    }
  }
}

const QUOTE = 34;
const BACKSLASH = 92;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
