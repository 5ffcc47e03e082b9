// ONNX Runtime as one of the peers that bench/run compares (ours.cpp says what a peer answers). FOLDER/layer.onnx is
// written by onnx_model.py.
const fs = require('fs');
const path = require('path');
const readline = require('readline');
const ort = require('onnxruntime-node');

const E = 512;
let folder, session, input;

const peer = {
  async version() {
    return ort.env.versions.node;
  },
  async load(where, batch, length, threads) {
    folder = where;
    session = await ort.InferenceSession.create(path.join(folder, 'layer.onnx'), {
      intraOpNumThreads: Number(threads), interOpNumThreads: 1, executionMode: 'sequential', graphOptimizationLevel: 'all',
    });
    const bytes = fs.readFileSync(path.join(folder, 'x.f32'));
    const floats = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    input = new ort.Tensor('float32', floats, [Number(batch), Number(length), E]);
    return 'ready';
  },
  async write(name) {
    const { y } = await session.run({ x: input });
    fs.writeFileSync(path.join(folder, name), Buffer.from(y.data.buffer, y.data.byteOffset, y.data.byteLength));
    return 'written';
  },
  async time(times) {
    const start = process.hrtime.bigint();
    for (let t = 0; t < Number(times); ++t) await session.run({ x: input });
    return String(Number(process.hrtime.bigint() - start) * 1e-9);
  },
};

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [command, ...words] = line.split(' ');
    try {
      console.log(await peer[command](...words));
    } catch (error) {
      console.log('error: ' + error.message.replace(/\n/g, ' '));
    }
  }
})();
