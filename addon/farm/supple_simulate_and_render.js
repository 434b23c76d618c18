// SPDX-License-Identifier: GPL-3.0-or-later
// A job type of Flamenco 3: soft bodies are simulated once and baked, then frames are rendered in
// chunks, side by side.

const JOB_TYPE = {
    label: "Supple",
    description: "Simulate soft bodies once, bake them, and render the frames",
    settings: [
        { key: "frames", type: "string", required: true,
          eval: "f'{C.scene.frame_start}-{C.scene.frame_end}'",
          description: "Frames to render, such as 1-60" },
        { key: "chunk_size", type: "int32", default: 10, visible: "submission",
          description: "Number of frames that one task renders" },
        { key: "blendfile", type: "string", required: true, visible: "web",
          description: "The .blend file with soft bodies" },
        { key: "cache", type: "string", subtype: "dir_path", required: true,
          eval: "str(Path(bpy.data.filepath).with_name('supple_cache'))",
          description: "Folder for simulated frames, on a disk that all workers share" },
        { key: "baked_file", type: "string", subtype: "file_path", required: true,
          eval: "str(Path(bpy.data.filepath).with_name(Path(bpy.data.filepath).stem + '_baked.blend'))",
          description: "The baked .blend file to make" },
        { key: "images", type: "string", subtype: "dir_path", required: true,
          eval: "str(Path(bpy.data.filepath).with_name(Path(bpy.data.filepath).stem + '_frames'))",
          description: "Folder for rendered images" },
    ],
};

function compileJob(job) {
    const settings = job.settings;
    const simulate = task("simulate", settings.blendfile, "simulate",
        ["--cache", settings.cache]);
    const bake = task("bake", settings.blendfile, "bake",
        ["--cache", settings.cache, "--output", settings.baked_file]);
    bake.addDependency(simulate);
    job.addTask(simulate);
    job.addTask(bake);
    for (const chunk of frameChunker(settings.frames, settings.chunk_size)) {
        const render = task(`render-${chunk}`, settings.baked_file, "render",
            [`--frames=${chunk}`, "--output", settings.images]);
        render.addDependency(bake);
        job.addTask(render);
    }
}

// A task that runs one of Supple's commands in Blender.
function task(name, blendfile, command, words) {
    const made = author.Task(name, "blender");
    made.addCommand(author.Command("blender-render", {
        exe: "{blender}",
        exeArgs: "{blenderArgs}",
        argsBefore: [],
        blendfile: blendfile,
        args: ["--command", "supple", command, ...words],
    }));
    return made;
}
