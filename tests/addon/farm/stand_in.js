// SPDX-License-Identifier: GPL-3.0-or-later
// Stands in for a Flamenco manager: compiles a job by a job type, and prints its tasks as JSON.
// node stand_in.js JOB_TYPE JOB
const fs = require("fs");
const vm = require("vm");

class Task {
    constructor(name, type) { Object.assign(this, { name, type, commands: [], dependencies: [] }); }
    addCommand(command) { this.commands.push(command); }
    addDependency(other) { this.dependencies.push(other.name); }
}

const author = {
    Task: function (name, type) { return new Task(name, type); },
    Command: function (name, parameters) { return { name, parameters }; },
};

// Chunks of one range, as "1-10".
function frameChunker(frames, size) {
    const [first, last] = frames.split("-").map(Number);
    const chunks = [];
    for (let start = first; start <= last; start += size) {
        const end = Math.min(start + size - 1, last);
        chunks.push(start === end ? `${start}` : `${start}-${end}`);
    }
    return chunks;
}

const [, , jobType, jobFile] = process.argv;
const job = JSON.parse(fs.readFileSync(jobFile, "utf8"));
const tasks = [];
job.addTask = (task) => tasks.push(task);
const context = vm.createContext({ author, frameChunker, job, print: () => {} });
vm.runInContext(fs.readFileSync(jobType, "utf8"), context);
const settings = vm.runInContext("JOB_TYPE.settings", context);
for (const setting of settings) {
    if (setting.required && job.settings[setting.key] === undefined) {
        throw new Error(`the setting ${setting.key} is missing`);
    }
}
vm.runInContext("compileJob(job)", context);
console.log(JSON.stringify({ label: vm.runInContext("JOB_TYPE.label", context),
    settings: settings.map((each) => each.key), tasks }));
