// All documents of a collection, one after another, for work on whole read models: a query goes by a declared index, and this by none.

/** A document as the store keeps it. */
export interface StoredText {
  readonly id: string;
  /** JSON. */
  readonly text: string;
}

export interface DocumentScan {
  /**
   * The next documents of the version in use by the bytes of their ids in UTF-8, those behind `after` (null: from the first). At most `limit`, and it ends
   * before the one with which their texts would be more than `bytesMax`; one at least, and none at the collection's end.
   * @throws Error when no read model that is prepared has the collection, or the store is away
   */
  scan(
    collection: string,
    page: { readonly after: string | null; readonly limit: number; readonly bytesMax: number },
  ): Promise<readonly StoredText[]>;
  /** About how many there are. @throws as `scan` does */
  size(collection: string): Promise<number>;
}
