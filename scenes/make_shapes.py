#!/usr/bin/env python3
"""Writes the meshes of the scenes of shaped smoke to out/shapes: an animal that stands and walks, one file per frame, and
the letters psi and omega.

    python3 scenes/make_shapes.py
"""
import math
import os

FRAMES = 144  # of the walk
STANDS = 48  # the animal stands until this frame


def add(a, b, s=1.0):
    return tuple(x + s * y for x, y in zip(a, b))


def unit(a):
    length = math.sqrt(sum(x * x for x in a))
    return tuple(x / length for x in a)


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


class Mesh:
    def __init__(self):
        self.vertices, self.triangles = [], []

    def tube(self, corners, radii, sectors=14, cap=5):
        """A closed tube around a polyline with a radius at each corner and round ends."""
        tangents = []
        for i in range(len(corners)):
            before, after = corners[max(i - 1, 0)], corners[min(i + 1, len(corners) - 1)]
            tangents.append(unit(add(after, before, -1)))
        rings = []  # centre, radius, tangent
        ends = []
        for k in range(cap):
            angle = math.pi / 2 * (k + 1) / (cap + 1)
            ends.append((radii[0] * math.cos(angle), radii[0] * math.sin(angle)))
            rings.append((add(corners[0], tangents[0], -ends[-1][0]), ends[-1][1], tangents[0]))
        rings += list(zip(corners, radii, tangents))
        for k in reversed(range(cap)):
            angle = math.pi / 2 * (k + 1) / (cap + 1)
            rings.append((add(corners[-1], tangents[-1], radii[-1] * math.cos(angle)), radii[-1] * math.sin(angle), tangents[-1]))
        first = len(self.vertices)
        across = unit(cross(tangents[0], (0, 0, 1) if abs(tangents[0][2]) < 0.9 else (1, 0, 0)))
        for center, radius, tangent in rings:
            across = unit(add(across, tangent, -dot(across, tangent)))  # turns as little as possible
            other = cross(tangent, across)
            for s in range(sectors):
                angle = 2 * math.pi * s / sectors
                self.vertices.append(add(add(center, across, radius * math.cos(angle)), other, radius * math.sin(angle)))
        for r in range(len(rings) - 1):
            for s in range(sectors):
                a, b = first + r * sectors + s, first + r * sectors + (s + 1) % sectors
                self.triangles += [(a, b, b + sectors), (a, b + sectors, a + sectors)]
        tips = len(self.vertices)
        self.vertices += [add(corners[0], tangents[0], -radii[0]), add(corners[-1], tangents[-1], radii[-1])]
        last = first + (len(rings) - 1) * sectors
        for s in range(sectors):
            after = (s + 1) % sectors
            self.triangles += [(tips, first + after, first + s), (tips + 1, last + s, last + after)]

    def write(self, path):
        with open(path, "w") as out:
            for v in self.vertices:
                out.write("v %.5f %.5f %.5f\n" % v)
            for t in self.triangles:
                out.write("f %d %d %d\n" % tuple(i + 1 for i in t))


def animal(time, speed=0.5):
    """A long-legged animal, 1.3 m long and 1.2 m high. The vertices of all times correspond."""
    mesh = Mesh()
    at = speed * time
    swing = 2 * math.pi * time
    nod, bob = 0.03 * math.sin(2 * swing), 0.012 * math.sin(2 * swing)

    def x(px, py, pz=0.0):
        return (px + at, py + bob, pz)

    mesh.tube([x(-0.36, 0.74), x(-0.2, 0.745), x(0, 0.74), x(0.2, 0.75), x(0.36, 0.78)], [0.13, 0.16, 0.155, 0.165, 0.13])
    mesh.tube([x(0.38, 0.84), x(0.47, 0.96 + 0.5 * nod), x(0.55, 1.1 + nod)], [0.1, 0.08, 0.07])  # neck
    mesh.tube([x(0.54, 1.13 + nod), x(0.65, 1.09 + nod), x(0.77, 1.02 + nod)], [0.085, 0.07, 0.045])  # head
    for side in (-1, 1):  # ears
        mesh.tube([x(0.51, 1.19 + nod, 0.045 * side), x(0.49, 1.27 + nod, 0.055 * side)], [0.026, 0.018])
    mesh.tube([x(-0.45, 0.78), x(-0.55, 0.72, 0.3 * nod), x(-0.62, 0.56, 0.8 * nod)], [0.045, 0.045, 0.035])  # tail
    for leg in range(4):
        front, side = leg < 2, 1 if leg % 2 == 0 else -1
        phase = swing + (0 if leg in (0, 3) else math.pi)
        stride = 0.35 if time > 0 else 0.0
        hip = stride * math.sin(phase)
        knee = hip - (0.6 * max(0.0, math.cos(phase)) if time > 0 else 0.0)
        top = x(0.3 if front else -0.3, 0.68, 0.09 * side)
        middle = add(top, (math.sin(hip), -math.cos(hip), 0), 0.33)
        foot = add(middle, (math.sin(knee), -math.cos(knee), 0), 0.3)
        half = lambda a, b: tuple(0.5 * (p + q) for p, q in zip(a, b))
        mesh.tube([top, half(top, middle), middle, half(middle, foot), foot], [0.08, 0.068, 0.056, 0.05, 0.046])
    return mesh


def psi():
    mesh = Mesh()
    mesh.tube([(0, 0.05 + 0.1 * k, 0) for k in range(11)], [0.075] * 11)
    arc = [(0.38 * math.cos(a), 0.72 + 0.38 * math.sin(a), 0) for a in (math.pi * (1 + k / 16) for k in range(17))]
    mesh.tube([(-0.38, 1.02, 0), (-0.38, 0.87, 0)] + arc + [(0.38, 0.87, 0), (0.38, 1.02, 0)], [0.075] * 21)
    return mesh


def omega():
    mesh = Mesh()
    angles = [math.radians(-62 + k * 304 / 32) for k in range(33)]
    arc = [(0.4 * math.cos(a), 0.62 + 0.44 * math.sin(a), 0) for a in angles]
    mesh.tube([(0.48, 0.08, 0), (0.32, 0.08, 0), (0.2, 0.09, 0)] + arc + [(-0.2, 0.09, 0), (-0.32, 0.08, 0), (-0.48, 0.08, 0)],
              [0.075] * 39)
    return mesh


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "out", "shapes")
    os.makedirs(folder, exist_ok=True)
    for frame in range(1, FRAMES + 1):
        animal(max(0, frame - STANDS) / 24).write(os.path.join(folder, "walk.%04d.obj" % frame))
    animal(0).write(os.path.join(folder, "animal.obj"))
    psi().write(os.path.join(folder, "psi.obj"))
    omega().write(os.path.join(folder, "omega.obj"))


if __name__ == "__main__":
    main()
