import bpy

props = bpy.context.scene.supple

props.resolution_scale = 60.0
props.substeps = 0
props.friction_updates = 1
props.motion_samples = 1
