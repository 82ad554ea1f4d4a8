"""A network of a peer as the ONNX file that zc trains."""
import torch


def export(folder, net, x):
    """Write FOLDER/model.onnx and return the name of its input."""
    name = "x" if x.is_floating_point() else "input_ids"
    folder.mkdir(parents=True, exist_ok=True)
    torch.onnx.export(net.train(), (x,), str(folder / "model.onnx"),
                      dynamo=True, optimize=False, external_data=True,
                      verbose=False, input_names=[name],
                      output_names=["logits"])
    return name
