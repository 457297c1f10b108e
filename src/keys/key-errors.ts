/** A key with this id exists already; ids are random, so this is a repeated call or a copied record. */
export class DuplicateKeyError extends Error {
  override readonly name = "DuplicateKeyError";
  constructor(id: string) {
    super(`a key with the id ${id} exists already`);
  }
}

/** Only a key that works can be replaced: rotation must not bring a revoked or expired grant back to life. */
export class KeyNotActiveError extends Error {
  override readonly name = "KeyNotActiveError";
  constructor(id: string) {
    super(`the key ${id} is revoked or expired; create a new key instead`);
  }
}

/** Rotation is serial per key: a second one would give a key that lives no longer than the overlap of the first. */
export class KeyRotatedError extends Error {
  override readonly name = "KeyRotatedError";
  constructor(id: string) {
    super(`the key ${id} has been rotated already; rotate the key that replaced it, or create a new key`);
  }
}
