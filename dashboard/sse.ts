// Reads server-sent events out of the text of a stream, however it is cut.

export interface StreamEvent {
  readonly id: string | null;
  readonly data: string;
}

/** A function that takes the next piece of text and gives the events that it ends. */
export function createEventReader(): (text: string) => StreamEvent[] {
  let rest = '';
  return (text) => {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop() ?? '';
    return blocks.flatMap((block) => {
      const data: string[] = [];
      let id: string | null = null;
      for (const line of block.split('\n')) {
        if (line.startsWith('data:')) data.push(line.slice(5).trimStart());
        else if (line.startsWith('id:')) id = line.slice(3).trim();
      }
      return data.length === 0 ? [] : [{ id, data: data.join('\n') }];
    });
  };
}
