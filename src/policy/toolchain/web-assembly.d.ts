/**
 * The part of the WebAssembly API that policies, their toolchain and the reader of vectors use:
 * TypeScript declares it for browsers only ("dom"), and
 * @types/node does not.
 */
declare namespace WebAssembly {
  /** Opaque: made by `compile`, taken by everything else. */
  type Module = object;
  const Module: {
    /** Compiles at once: for modules of some hundred bytes. */
    new (bytes: Uint8Array<ArrayBuffer>): Module;
    exports(module: Module): readonly { readonly name: string }[];
  };
  class Memory {
    readonly buffer: ArrayBuffer;
    private constructor();
  }
  class Global {
    /** A bigint for i64. */
    value: unknown;
    private constructor();
  }
  class Instance {
    readonly exports: Readonly<Record<string, unknown>>;
    constructor(module: Module);
  }
  function compile(bytes: Uint8Array<ArrayBuffer>): Promise<Module>;
  function instantiate(
    module: Module,
    imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  ): Promise<Instance>;

  /** Named by the types of @open-policy-agent/opa-wasm. */
  interface WebAssemblyInstantiatedSource {
    readonly module: Module;
    readonly instance: Instance;
  }
  interface MemoryDescriptor {
    initial: number;
    maximum?: number;
  }
}
