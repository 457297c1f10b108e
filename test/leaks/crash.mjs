/** Loaded before the server (`--import`): a body that holds the mark makes every handler throw an error that quotes it. */
const parse = JSON.parse;
JSON.parse = (text, reviver) => {
  if (typeof text !== "string" || !text.includes("CRASH-THE-HANDLER")) return parse(text, reviver);
  return new Proxy(parse(text), {
    get() {
      throw new Error(`cannot handle ${text}`);
    },
    has() {
      throw new Error(`cannot handle ${text}`);
    },
    ownKeys() {
      throw new Error(`cannot handle ${text}`);
    },
  });
};
