/** Texts that tokenizers disagree about. */
import fc from 'fast-check';

export const TEXTS: readonly string[] = [
  '',
  ' ',
  'Task: pick up the red cup, State: 0 128 255 -1 192;\nAction: ',
  'Task: put the bowl on the plate. Subtask: ',
  'pick up the cube',
  'UPPER lower MiXeD camelCase snake_case kebab-case',
  'don’t “quote” — it… isn’t «right»',
  '0 1 12 123 1234 12345 3.14159 -1 1e-5 0x7f ½ ² ٣ ３ 1,000,000',
  'Öffne die Schublade – schnell! Weiß, Straße, naïve, façade, ñandú',
  'Поднимите красную чашку и поставьте её на тарелку.',
  'Σήκωσε το κόκκινο φλιτζάνι',
  'הרם את הכוס האדומה',
  'ارفع الكوب الأحمر وضعه على الطبق',
  'लाल कप उठाओ और प्लेट पर रखो',
  'লাল কাপ তুলুন',
  'சிவப்பு கோப்பையை எடு',
  'ยกถ้วยสีแดงขึ้นแล้ววางบนจาน',
  '赤いカップを持ち上げて、皿の上に置いてください。',
  '拿起红色杯子，放在盘子上',
  '빨간 컵을 들어 접시 위에 놓으세요',
  'አማርኛ ქართული հայերեն ᏣᎳᎩ ភាសាខ្មែរ မြန်မာ བོད་སྐད',
  '𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈𐌰𐌹 𓀀𓂀 𠮷野家',
  '🤖🦾 👍🏽 👩‍🔧 👨‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇯🇵 ☃️ 1️⃣',
  'é é Å Å ﬁ ﷺ ㎏ Ⅷ',
  'a\nb\n\nc\n\n\n\n\nd\r\ne\rf',
  '\tx\t\ty\t\t\t\tz\u00a0w\u2003v\u3000u',
  '  two  three   sixteen                thirty-three                                 end  ',
  '\u0000\u0001\u0007\u0008\u000b\u000c\u001b[31m\u007f\u0085\u200b\u200d\ufeff\ufffd\u2028\u2029',
  '▁ ▁▁ a▁b ▁▁▁▁',
  '<0x41> <0x0A> <0xFF> <0xGG> <0x4>',
  '<bos> <eos> <pad> <unk> <s> </s> [@BOS@] <unused7> <start_of_turn>user\n<end_of_turn>',
  '<loc0000><loc1023> <loc0512>, <loc1024> <seg000><seg127>; <seg128> <loc12> loc0001 <image>',
  '<table><tr><td>x</td></tr></table> <h1>y</h1> <mask> <2mass>',
  '........ -------- ======== !!!! ???? ;;;; aaaaaaaaaaaaaaaaaaaa hahahahahaha',
  'antidisestablishmentarianism Donaudampfschifffahrtsgesellschaftskapitän',
  'x'.repeat(3000),
  'supercalifragilistic'.repeat(100),
  '那'.repeat(500),
  ' '.repeat(500),
  '\n'.repeat(200),
  'https://example.org/a?b=c&d=%20#e user@host {"json": [1, 2.5, null]} \\n \\\\ C:\\dir $x^2$',
];

/** `count` texts put together from `words`, unusual characters and the texts above; the same ones every time. */
export function randomTexts(words: readonly string[], count: number, seed: number): string[] {
  const character = fc.string({ unit: 'binary', minLength: 1, maxLength: 3 });
  const part = fc.oneof(
    { arbitrary: fc.nat(words.length - 1).map(i => words[i]!), weight: 4 },
    { arbitrary: character, weight: 2 },
    { arbitrary: fc.constantFrom(...TEXTS.filter(text => text.length < 100)), weight: 1 },
    {
      arbitrary: fc.constantFrom(' ', '  ', '\n', '\t', '.', ',', '1', '23', '▁', '<', '>', '🤖', '\u0301'),
      weight: 4,
    },
  );
  const text = fc.array(part, { minLength: 1, maxLength: 12 }).map(parts => parts.join(''));
  return fc.sample(text, { numRuns: count, seed });
}
