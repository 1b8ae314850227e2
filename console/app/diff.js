// What changed between two texts, line by line.

/**
 * The lines of both: [{sign: ' ' | '-' | '+', text}], by the longest common subsequence.
 * Quadratic in what differs; equal beginnings and ends are taken off first.
 */
export function diffLines(before, after) {
  const [a, b] = [before, after].map((text) => (text === '' ? [] : text.split('\n')));
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const same = (text) => ({ sign: ' ', text });
  return [
    ...a.slice(0, start).map(same),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(same),
  ];
}

function middle(a, b) {
  // common[i][j] is the length of the longest common subsequence of a from i and b from j.
  const common = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const lines = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ sign: ' ', text: a[i++] });
      j++;
    } else if (j === b.length || (i < a.length && common[i + 1][j] >= common[i][j + 1])) {
      lines.push({ sign: '-', text: a[i++] });
    } else {
      lines.push({ sign: '+', text: b[j++] });
    }
  }
  return lines;
}

/** Only the changed lines with so many around them; {skipped: n} stands for what is left out. */
export function hunks(lines, around = 3) {
  const near = lines.map((_, i) => lines.slice(Math.max(0, i - around), i + around + 1).some((l) => l.sign !== ' '));
  const shown = [];
  for (const [i, line] of lines.entries()) {
    if (near[i]) shown.push(line);
    else if (shown.length > 0 && shown.at(-1).skipped) shown.at(-1).skipped++;
    else shown.push({ skipped: 1 });
  }
  return shown;
}
