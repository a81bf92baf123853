// Which keys the documents of a collection have, told once for all of them: a store may keep a document as the list of its values.

/** Of an object: exactly these keys in this order. One that has others is kept as it is. */
export interface ObjectShape {
  readonly keys: readonly string[];
  /** By key: what the object there may be, or each of the objects in the list there. Of several one is told from another by how many keys it has. */
  readonly inside?: Readonly<Record<string, readonly ObjectShape[]>>;
}

/** Of a document. For good: documents of another shape are those of another fold, but for those that are kept as they are. */
export interface DocumentShape extends ObjectShape {
  /** The key under which documents hold their own id. */
  readonly id?: string;
  /** Keys that are declared fields of text or number, as long as there are such documents: the values stand beside these, which needn't hold them. */
  readonly beside: readonly string[];
  /** By key that isn't beside: the characters of each text in the list there. Such a list needs no marks between its texts; another one is kept as it is. */
  readonly texts?: Readonly<Record<string, number>>;
}
