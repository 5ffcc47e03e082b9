// node float16.mjs FROM TO: a file of tensors with its float32 as float16, each rounded to the nearest (to even, when two are as near).
import { readFileSync, writeFileSync } from "node:fs";

const [from, to] = process.argv.slice(2);
const bytes = readFileSync(from);
const begin = 8 + Number(bytes.readBigUInt64LE(0));
const header = JSON.parse(bytes.toString("utf8", 8, begin));

/** The bits of a finite number below 65504. */
function float16(x) {
  const sign = x < 0 || Object.is(x, -0) ? 0x8000 : 0;
  const size = Math.abs(x);
  const exponent = Math.max(Math.floor(Math.log2(size || 1)), -14);
  const scaled = size * 2 ** (10 - exponent); // 1024 to 2047, or less where the exponent is -14
  let rounded = Math.round(scaled);
  if (rounded - scaled === 0.5 && rounded % 2) rounded--;
  const bits = rounded < 1024 ? rounded : (exponent + 15) * 1024 + (rounded - 1024); // 2048 carries into the exponent
  if (!(bits < 0x7c00)) throw new Error(`${x} does not fit into a float16`);
  return sign | bits;
}

const entries = Object.entries(header).filter(([name]) => name !== "__metadata__");
for (const [name, entry] of entries) {
  if (entry.dtype !== "F32") throw new Error(`${name} has the dtype ${entry.dtype}, expected F32`);
  entry.dtype = "F16";
  entry.data_offsets = entry.data_offsets.map((offset) => offset / 2);
}
const count = (bytes.length - begin) / 4;
const numbers = Buffer.alloc(2 * count);
for (let i = 0; i < count; ++i) numbers.writeUInt16LE(float16(bytes.readFloatLE(begin + 4 * i)), 2 * i);
const json = Buffer.from(JSON.stringify(header));
const length = Buffer.alloc(8);
length.writeBigUInt64LE(BigInt(json.length));
writeFileSync(to, Buffer.concat([length, json, numbers]));
