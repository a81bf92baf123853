// Who of a group's members owns which partition number: even shares, and nothing moves that need not.

/**
 * The owner of each number: everyone keeps the lowest of its numbers up to an even share, the rest goes, ascending, to those who have less.
 * Where the numbers don't divide evenly, those who own most keep the odd ones; among equals the order of `members` decides, in everything.
 * @param owners by number, as it was; null, or nobody of `members`: free
 * @param members at least one, each once
 */
export function shareNumbers<M>(owners: readonly (M | null)[], members: readonly M[]): M[] {
  const shares = evenShares(owners, members);
  const kept = new Map<M, number>();
  const shared = owners.map((owner) => {
    const count = owner === null ? 0 : (kept.get(owner) ?? 0);
    if (owner === null || count >= (shares.get(owner) ?? 0)) return null;
    kept.set(owner, count + 1);
    return owner;
  });
  const takers = members.flatMap((member) => {
    const wanted = (shares.get(member) ?? 0) - (kept.get(member) ?? 0);
    return Array.from({ length: wanted }, () => member);
  });
  let next = 0;
  return shared.map((owner) => {
    if (owner !== null) return owner;
    const taker = takers[next++];
    if (taker === undefined) throw new Error('the shares of a group are too small for its numbers');
    return taker;
  });
}

/** How many numbers each member gets; one of another member or of nobody counts for none. */
function evenShares<M>(owners: readonly (M | null)[], members: readonly M[]): Map<M, number> {
  const owned = new Map(members.map((member) => [member, 0]));
  for (const owner of owners) {
    const count = owner === null ? undefined : owned.get(owner);
    if (owner !== null && count !== undefined) owned.set(owner, count + 1);
  }
  const most = [...members].sort((a, b) => (owned.get(b) ?? 0) - (owned.get(a) ?? 0));
  const base = Math.floor(owners.length / members.length);
  const odd = owners.length % members.length;
  return new Map(most.map((member, place) => [member, base + (place < odd ? 1 : 0)]));
}
