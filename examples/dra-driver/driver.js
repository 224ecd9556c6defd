// The driver of driver.py in JavaScript: node 20, @grpc/grpc-js and @grpc/proto-loader.
//
//     npm install @grpc/grpc-js @grpc/proto-loader
//     flake-hunt driver-test 'command=node driver.js {kubeconfig} {node} {driver}
//         {plugins_dir} {registry_dir} {cdi_dir} {state_dir}'
"use strict";
const fs = require("node:fs");
const https = require("node:https");
const path = require("node:path");
const timers = require("node:timers/promises");
const util = require("node:util");
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");

const [configPath, node, driver, plugins, registry, cdi, state] = process.argv.slice(2);
const config = JSON.parse(fs.readFileSync(configPath));
const { server, "certificate-authority-data": authority } = config.clusters[0].cluster;
const { token } = config.users[0].user;
const api = `${server}/apis/resource.k8s.io/v1`;
const socket = path.join(plugins, driver, "dra.sock");
const registrar = path.join(registry, `${driver}-reg.sock`);
const checkpoint = path.join(state, "checkpoint.json");
const prepared = fs.existsSync(checkpoint) ? JSON.parse(fs.readFileSync(checkpoint)) : {};

function call(method, url, body) {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/apply-patch+yaml" };
  const options = { method, headers, ca: Buffer.from(authority, "base64"), timeout: 10000 };
  return new Promise((resolve, reject) => {
    const request = https.request(url, options, async (response) => {
      const text = (await response.toArray()).join("");
      response.statusCode < 300 ? resolve(JSON.parse(text)) : reject(new Error(text));
    });
    request.on("timeout", () => request.destroy(new Error(`${url}: no answer`)));
    request.on("error", reject).end(body && JSON.stringify(body));
  });
}

function write(file, document) { // others find it whole or not at all
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(`${file}.new`, JSON.stringify(document));
  fs.renameSync(`${file}.new`, file);
}

const cdiFile = (uid) => path.join(cdi, `${driver}-${uid}.json`);

async function prepare({ namespace, name, uid }) {
  const claim = await call("GET", `${api}/namespaces/${namespace}/resourceclaims/${name}`);
  if (claim.metadata.uid !== uid) throw new Error(`${name} is a new claim: ${claim.metadata.uid}`);
  const rows = claim.status.allocation.devices.results.filter((row) => row.driver === driver);
  const own = ({ device, shareID }) => `${device}/${shareID ?? ""}`; // the device, or a share
  const alone = rows.filter((row) => !row.adminAccess).map(own);
  const isOther = ([other, held]) => other !== uid && held.some((device) => alone.includes(device));
  const holder = Object.entries(prepared).find(isOther);
  if (holder) throw new Error(`${holder[1]} are prepared for claim ${holder[0]}`);
  prepared[uid] = alone;
  write(checkpoint, prepared); // before anything that must be undone
  const spec = { cdiVersion: "0.6.0", kind: `${driver}/device`, devices: [] };
  const devices = rows.map(({ request, pool, device }, number) => {
    const added = `${uid}-${number}`;
    spec.devices.push({ name: added, containerEdits: { env: [`DEVICE_${number}=${device}`] } });
    const request_names = [request.split("/")[0]]; // of `gpu/large`: `gpu`
    const cdi_device_ids = [`${driver}/device=${added}`];
    return { request_names, pool_name: pool, device_name: device, cdi_device_ids };
  });
  write(cdiFile(uid), spec); // each time: a reboot empties the folder
  return { devices };
}

async function unprepare({ uid }) { // the claim may be gone, or was never prepared
  fs.rmSync(cdiFile(uid), { force: true });
  delete prepared[uid];
  write(checkpoint, prepared); // after all that must be undone
  return {};
}

let last = Promise.resolve();
const each = (act) => ({ request }, callback) => { // one call after another; an answer for every claim
  last = last.then(async () => {
    const claims = {};
    for (const claim of request.claims) {
      claims[claim.uid] = await act(claim).catch((error) => ({ error: error.message }));
    }
    callback(null, { claims });
  });
};

async function publish() { // or leave the slice as it is
  const spec = { driver, nodeName: node, pool: { name: node, generation: 1, resourceSliceCount: 1 } };
  spec.devices = [0, 1, 2, 3].map((number) => ({ name: `device-${number}` }));
  const head = { apiVersion: "resource.k8s.io/v1", kind: "ResourceSlice" };
  const name = `${node}-${driver}`;
  const url = `${api}/resourceslices/${name}?fieldManager=${driver}&force=true`;
  await call("PATCH", url, { ...head, metadata: { name }, spec });
}

async function serve(file, { service }, methods) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.rmSync(file, { force: true }); // a killed process has left it
  const served = new grpc.Server();
  served.addService(service, methods);
  const bind = util.promisify(served.bindAsync.bind(served));
  await bind(`unix:${file}`, grpc.ServerCredentials.createInsecure());
}

async function main() {
  const files = ["dra.proto", "registration.proto"].map((file) => path.join(__dirname, file));
  const known = grpc.loadPackageDefinition(loader.loadSync(files, { keepCase: true, defaults: true }));
  const info = { type: "DRAPlugin", name: driver, endpoint: socket };
  const registration = {
    GetInfo: (_, callback) => callback(null, { ...info, supported_versions: ["v1.DRAPlugin"] }),
    NotifyRegistrationStatus: ({ request }, callback) => callback(null, console.log(request) ?? {}),
  };
  const plugin = { NodePrepareResources: each(prepare), NodeUnprepareResources: each(unprepare) };
  await serve(socket, known.k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin, plugin);
  await serve(registrar, known.pluginregistration.Registration, registration); // when all is ready
  process.on("SIGTERM", () => {
    fs.rmSync(registrar);
    fs.rmSync(socket);
    process.exit();
  });
  for (;;) { // a kubelet removes the slices of a driver that was away
    await publish().catch(console.error);
    await timers.setTimeout(2000);
  }
}

main();
